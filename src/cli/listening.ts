/** Why an address could not be listened on. */
import { Misconfigured } from '../core/errors.ts';

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has it',
  EACCES: 'this user may not have it (ports below 1024 need a right)',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAFNOSUPPORT: 'this machine has no such kind of address',
  EINVAL: 'it is no address to listen on',
  ENOTFOUND: 'no such name is known',
  EAI_AGAIN: 'its name cannot be looked up now',
};

/** What was thrown, in words that say what to change where somebody can; `from`: where host and port were taken from. */
export function notListening(error: unknown, from: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reason = reasons[code];
  if (reason === undefined || !(error instanceof Error)) return error;
  return new Misconfigured(`cannot listen: ${error.message}: ${reason}; change ${from}`, { cause: error });
}
