/** Public addresses: a URL that a server gives may not lead into our own network. */

import { isIPv4 } from 'node:net';
import { isIn, rangesOf } from '../core/this-machine.ts';

/** IANA's registry of special purpose addresses, version 4: private, shared, link-local (cloud metadata), reserved, multicast. */
const special4 = rangesOf(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);

/** Of version 6 only 2000::/3 is global unicast; within it: protocol assignments (Teredo), documentation, 6to4. */
const global6 = rangesOf('2000::/3');
const special6 = rangesOf('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

/** Whether the address (without brackets) is of the public Internet. What is no address is not. */
export const isPublic = (address: string): boolean =>
  isIPv4(address) ? !isIn(special4, address) : isIn(global6, address) && !isIn(special6, address);
