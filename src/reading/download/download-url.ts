/** Which addresses a file may be fetched from: a source gives them, so they are checked. */

import { isIP, isIPv4 } from 'node:net';
import { ForeignOrigin } from '../../core/errors.ts';
import { bareHost, isIn, isLoopback, isThisMachine, rangesOf } from '../../core/this-machine.ts';
import { strictUrl } from '../../http/request-url.ts';

/** Hosts that the configuration allows. */
export interface AllowedHosts {
  /** The origin of the source itself, e.g. `https://api.example.com`. */
  readonly own: string;
  /** Other hosts, `name` (the scheme's own port) or `name:port`, in lower case. */
  readonly hosts: readonly string[];
}

/** An address that is allowed, and which network addresses its name may resolve to. */
export interface DownloadTarget {
  readonly url: URL;
  readonly mayBe: (address: string) => boolean;
}

/**
 * A path alone (`/reports/7.csv`) lies at the source's own origin. Throws `ForeignOrigin` for an address that is not of that origin nor of a
 * configured host, is not https (http only on loopback, where the source itself is http on loopback), carries a user, is written deceptively, or
 * names a private network address outright.
 */
export const targetOf = (what: string, text: string, { own, hosts }: AllowedHosts): DownloadTarget => {
  const refused = (why: string): ForeignOrigin =>
    new ForeignOrigin(`${what}: the address of the report ${why}; nothing was fetched from it`);
  const source = new URL(own);
  // Of relative addresses only a path is unambiguous: `//host/a.csv` names another server.
  const url = strictUrl(/^\/(?!\/)/.test(text) ? source.origin + text : text);
  if (url === null) throw refused('is no URL');
  const local = source.protocol === 'http:' && isThisMachine(source.hostname);
  if (url.username !== '' || url.password !== '') throw refused('carries a user name');
  if (url.protocol !== 'https:' && !(local && url.protocol === 'http:' && isThisMachine(url.hostname)))
    throw refused('is not https');
  const isOwn = url.origin === source.origin;
  if (!isOwn && !hosts.includes(url.host))
    throw refused(`is at ${url.host}, which is not one of the hosts that reports may be fetched from`);
  // The source's own origin is configured, and gets the credentials as well.
  const mayBe = (address: string): boolean => isOwn || isPublic(address) || (local && isLoopback(address));
  const literal = bareHost(url.hostname);
  if (isIP(literal) !== 0 && !mayBe(literal))
    throw refused(`is at ${url.host}, an address of a private network`);
  return { url, mayBe };
};

// Public addresses: a URL that a server gives may not lead into our own network.

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
