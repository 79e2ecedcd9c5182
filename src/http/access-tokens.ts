/** Access tokens of a token endpoint (OAuth 2.0, RFC 6749): one for all requests, obtained and renewed when it is needed. */

import { z } from 'zod';
import { orStopped } from '../core/abort.ts';
import * as errors from '../core/errors.ts';
import type { Auth } from './http-options.ts';

/** How access tokens are obtained. */
export interface Grant {
  readonly tokenUrl: string;
  /** How the client logs in at the token endpoint; absent: by fields of the form. */
  readonly auth?: Auth;
  /** What no message may show. */
  readonly secrets: () => readonly string[];
  /** Obtains a token: `ask` sends a form to the token endpoint. The token is used once this resolves. `closing` aborts when no other is needed. */
  readonly obtain: (ask: (form: Form) => Promise<Given>, closing: AbortSignal) => Promise<Given>;
  /** Ends the message where the endpoint refuses: why, and what to do. */
  readonly refused: string;
}

type Form = Readonly<Record<string, string>>;

/** What a token endpoint answers (RFC 6749 section 5.1). Without a life in seconds, a token is renewed only after a 401. */
const answered = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional().catch(undefined),
  expires_in: z.number().positive().catch(Number.POSITIVE_INFINITY),
});
export type Given = z.infer<typeof answered>;

/** A token is renewed this long before it expires, or in the last tenth of its life if that is shorter. */
const marginMs = 60_000;

/** `close` waits at most this long for a renewal: a quarter of the grace time (guarantee G9). */
const lastAnswerMs = 5_000;

/**
 * Sends the access token as a bearer. It is obtained before the first request, and renewed shortly before it expires and after a 401, once
 * for all requests that wait. Requests then throw `AuthFailed` where the token endpoint refuses or gives no token, `Unreachable` where it does
 * not answer, `RateLimited`.
 */
export const accessTokens =
  (grant: Grant): Auth =>
  (open, now) => {
    const { tokenUrl, auth, secrets } = grant;
    const http = open({ baseUrl: tokenUrl, auth, secrets, bodies: 'form', concurrency: 1 });
    const closing = new AbortController();
    const cutOff = new AbortController();
    let access = { token: '', until: Number.NEGATIVE_INFINITY };
    let renewal: Promise<void> | undefined;

    const ask = async (body: Form): Promise<Given> => {
      closing.signal.throwIfAborted();
      const to = { path: '', url: tokenUrl, endpoint: new URL(tokenUrl).pathname };
      const sent = http.send({ method: 'POST', ...to, body }, cutOff.signal);
      const answer = await sent.catch((cause) => fail(cause, grant, http.origin));
      const { data } = answered.safeParse(answer.body);
      if (data === undefined) throw new errors.AuthFailed(`${tokenUrl} gave no access token`);
      return data;
    };
    const obtain = async (): Promise<void> => {
      const from = now();
      const { access_token: token, expires_in: seconds } = await grant.obtain(ask, closing.signal);
      const life = seconds * 1000;
      access = { token, until: from + life - Math.min(marginMs, life / 10) };
    };
    /** One renewal for all callers; a caller that is aborted does not end it for the others. */
    const renew = async (signal: AbortSignal): Promise<boolean> => {
      renewal ??= obtain().finally(() => (renewal = undefined));
      await orStopped(renewal, signal);
      return true;
    };

    return {
      authorize: () => ({ authorization: `Bearer ${access.token}` }),
      async ready(signal) {
        if (now() >= access.until) await renew(signal);
      },
      renew,
      async close() {
        closing.abort(new errors.Interrupted('the connection to the source was closed'));
        // Do not abort at once: refresh tokens are single-use, and the new one is in the response that is under way.
        const late = setTimeout(() => cutOff.abort(closing.signal.reason), lastAnswerMs);
        await renewal?.catch(() => {});
        clearTimeout(late);
        await http.close();
      },
    };
  };

const fail = (cause: unknown, { tokenUrl, refused }: Grant, origin: string): never => {
  const what = `${origin}: ${errors.saidBy(cause)}`;
  if (cause instanceof errors.Refused || cause instanceof errors.AuthFailed)
    throw new errors.AuthFailed(`${what}; ${refused}`, { cause });
  if ([errors.Forbidden, errors.Missing, errors.UnexpectedContent].some((kind) => cause instanceof kind))
    throw new errors.AuthFailed(`${what}; is ${tokenUrl} the address that gives tokens?`, { cause });
  if (cause instanceof errors.Transient && !(cause instanceof errors.RateLimited))
    throw new errors.Unreachable(`no access token could be had: ${what}`, { cause });
  throw cause;
};
