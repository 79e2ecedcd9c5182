/** Which names and addresses mean this machine itself: what goes there leaves it never. */

import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addSubnet('::1', 128, 'ipv6');

/** Whether the address (without brackets) is one of the loopback; also as `::ffff:127.0.0.1`. */
export const isLoopback = (address: string): boolean => {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
};

/** A host of a URL as a bare name or address: without brackets, in lower case, without the root's dot. */
export const bareHost = (hostname: string): string => hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');

/** Whether a host, as URLs and settings write it, is this machine: `localhost` and all names below it (RFC 6761), or a loopback address. */
export const isThisMachine = (hostname: string): boolean => {
  const host = bareHost(hostname);
  return host === 'localhost' || host.endsWith('.localhost') || isLoopback(host);
};
