/** An error as reports, `--json` and messages show it. */
import { codeOf, Interrupted, TidemarkError } from './errors.ts';
import { escaped, withoutSecrets } from './format.ts';

/** Codes of Node and Postgres that mean "not reached" or "not let in", for errors that nothing wrapped. */
const connecting =
  /^(ECONN|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|08|28|3D000|57P03)/;

/** A stable code and a text without credentials and control characters of a source. */
export function describe(error: unknown): { readonly code: string; readonly message: string } {
  const system = codeOf(error) ?? '';
  const message = clean(error instanceof Error ? error.message || system || error.name : String(error));
  if (error instanceof TidemarkError) return { code: error.code, message };
  if (error instanceof Error && error.name === 'AbortError')
    return { code: new Interrupted('').code, message };
  return { code: connecting.test(system) ? 'unreachable' : 'internal', message };
}

/** What to do about an error whose message does not say it, by its code. */
export const nextSteps: Readonly<Record<string, string>> = {
  usage: 'see `tidemark help`',
  misconfigured: 'correct that and try again',
  unreachable: 'check its address and the network; `tidemark check` tries again',
  auth: 'correct the credentials; `tidemark check` tries them',
  forbidden: 'give the account this permission, or exclude the stream',
  missing: 'check the base URL; `tidemark check` tries it',
  refused: 'check the settings of the pipeline: `tidemark config`',
  unexpected_content: 'check the base URL, and what is between here and the source',
  page_too_large: 'look at the record at the source, or exclude the stream',
  too_many_rejects: 'see why: `tidemark rejects list`',
  lock_held: 'wait for it, or stop it',
  warehouse_full: 'free some space; the next run carries on',
  internal: 'run it again with --verbose, and report what that prints',
};

/** An error in the one form in which people read it: what is wrong, and what to do. A message may say both itself. */
export const errorText = (code: string, message: string): string => {
  if (message.includes(' · ')) return message;
  const next = nextSteps[code] ?? 'try again: what was committed stays';
  return `${message.replace(/[.;:]?\s*$/, '')}${message.includes('\n') ? '\n ' : ''} · ${next}`;
};

/** A text of a source, safe to print; its lines stay lines. */
export const clean = (text: string): string => withoutSecrets(text).split('\n').map(escaped).join('\n  ');
