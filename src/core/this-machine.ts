/** Which names and addresses mean this machine itself: what goes there leaves it never. */

import { BlockList, isIP, isIPv4 } from 'node:net';

/** Ranges of addresses, each written `10.0.0.0/8`. */
export const rangesOf = (...ranges: readonly string[]): BlockList => {
  const found = new BlockList();
  for (const range of ranges) {
    const [net = '', bits] = range.split('/');
    found.addSubnet(net, Number(bits), isIPv4(net) ? 'ipv4' : 'ipv6');
  }
  return found;
};

/** Whether the address (without brackets) is in one of the ranges; of version 4 also as `::ffff:127.0.0.1`. What is no address is not. */
export const isIn = (ranges: BlockList, address: string): boolean =>
  isIP(address) !== 0 && ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');

const loopback = rangesOf('127.0.0.0/8', '::1/128');

/** Whether the address (without brackets) is one of the loopback. */
export const isLoopback = (address: string): boolean => isIn(loopback, address);

/** A host of a URL as a bare name or address: without brackets, in lower case, without the root's dot. */
export const bareHost = (hostname: string): string => hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');

/** Whether a host, as URLs and settings write it, is this machine: `localhost` and all names below it (RFC 6761), or a loopback address. */
export const isThisMachine = (hostname: string): boolean => {
  const host = bareHost(hostname);
  return host === 'localhost' || host.endsWith('.localhost') || isLoopback(host);
};
