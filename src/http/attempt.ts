/** What one try of a request came to: an answer, or a failure that says whether another try makes sense. */

import type { TidemarkError } from '../core/errors.ts';
import type { Answer, Request } from '../core/request.ts';

export interface Failed {
  readonly error: TidemarkError;
  /**
   * no: the same again would fail the same way · yes: passing, counts as a try · once: a second look is worth it ·
   * connect: no connection came about · wait: the source asked for quiet (429), which is no failed try
   */
  readonly retry: 'no' | 'yes' | 'once' | 'connect' | 'wait';
  /** The source's wish: not sooner than this many milliseconds. */
  readonly afterMs?: number | undefined;
}

/** What one try came to. */
export type Attempt = { readonly answer: Answer } | { readonly failed: Failed };

/** One try of a request; rejects only for what is no outcome of a request: an abort, or a defect of ours. */
export type Try = (request: Request, signal: AbortSignal) => Promise<Attempt>;
