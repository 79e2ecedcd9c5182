/** The workflow engine's manners, laid around an `Http`. */

import { AuthFailed, Forbidden, Missing, Refused } from '../../core/errors.ts';
import type { Http } from '../../core/request.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { refusalIn } from './normalize.ts';

/** What reaching an engine takes; `WorkflowConfig` of src/connectors/dagu/config.ts is one. */
export interface EngineSettings {
  /** Before `/api/v1`; without a slash at its end. */
  readonly baseUrl: string;
  readonly token?: { reveal(): string };
}

export type HttpDeps = Partial<Omit<HttpOptions, 'baseUrl' | 'authorize'>>;

/** Throws `Misconfigured` for a base URL that cannot be used. */
export const openHttp = ({ baseUrl, token }: EngineSettings, deps: HttpDeps = {}): Http =>
  workflowHttp(
    createHttp({
      ...deps,
      baseUrl,
      authorize: () => (token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
    }),
  );

/**
 * An envelope that says `error` is no answer, whatever its status; credentials are good for all of an engine or for nothing, so a 403 is
 * about them.
 */
export const workflowHttp = (http: Http): Http => ({
  origin: http.origin,
  counters: http.counters,
  async send(request, signal) {
    const answer = await http.send(request, signal).catch((cause: unknown) => {
      if (!(cause instanceof Forbidden)) throw cause;
      throw new AuthFailed(`${http.origin} refuses these credentials (${cause.message})`, { cause });
    });
    const refusal = refusalIn(answer.body);
    if (refusal === undefined) return answer;
    const message = `${request.method} ${request.endpoint} answered ${answer.status} with an error: ${refusal}`;
    if (/not found|unknown|no such|does not exist/i.test(refusal))
      throw new Missing(message, answer.status, { body: answer.body });
    throw new Refused(message, answer.status, [refusal]);
  },
  close: () => http.close(),
});
