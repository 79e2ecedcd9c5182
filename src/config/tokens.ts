/** Tokens that go in an Authorization header. */

import type { Secret } from '../core/secret.ts';
import type { Variables } from './variables.ts';

/** A token that we show as it is: what an Authorization header cannot carry is a slip of whoever pasted it. */
export function shown(from: Variables, name: string): Secret | undefined {
  return fitting(
    from,
    name,
    /^[\x20-\x7e]+$/,
    'has a line break or a character that is not ASCII: no request could show it; copy it once more',
  );
}

/** A token that callers can show us: an Authorization header carries printable ASCII without blanks, and nothing else. */
export function bearer(from: Variables, name: string): Secret | undefined {
  return fitting(
    from,
    name,
    /^[\x21-\x7e]+$/,
    'has a blank or a character that is not ASCII: no caller could show it; make one of letters and digits',
  );
}

/** A secret that is of this form, or is told to be wrong. */
function fitting(from: Variables, name: string, form: RegExp, wrong: string): Secret | undefined {
  const secret = from.secret(name);
  if (secret !== undefined && !form.test(secret.reveal())) from.problem(name, wrong);
  return secret;
}
