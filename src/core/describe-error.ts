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

/** A text of a source, safe to print; its lines stay lines. */
export const clean = (text: string): string => withoutSecrets(text).split('\n').map(escaped).join('\n  ');
