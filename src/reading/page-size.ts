/**
 * How many records are asked for at once: as many as the endpoint gives, until so many are more than the server can make in time, or more than
 * we take.
 */

import { TimedOut, TooLarge } from '../core/errors.ts';
import type { Request } from '../core/stream.ts';
import { parameterOf, withParameter } from './paginators.ts';

/** By which a request says how many. */
const parameter = 'maxResults';

/** Each step asks for so many times fewer. */
const step = 4;

/**
 * A page size that is `most` until it proves too much. Every walk after that begins one step lower. A single record may be
 * larger than any other: for what is too large a walk goes down to one record. A server that is late for a quarter, too, is late for
 * another reason. `note` hears of the step once.
 */
export function pageSizeOf(most: number, note: (message: string) => void) {
  const lower = Math.floor(most / step);
  let now = most;
  return {
    /** What a walk begins with. */
    get most() {
      return now;
    },
    /** The same place with fewer records, after a page of as many as `sent` asks for has failed by `error`; undefined where that would not help. */
    fewer(sent: Request, error: unknown): Request | undefined {
      const asked = Number(parameterOf(sent, parameter));
      const isSize = error instanceof TooLarge && asked > 1;
      if (!isSize && !(error instanceof TimedOut && asked > lower)) return undefined;
      if (now > lower) note(`${error.message}; ${lower} at once from now on`);
      now = lower;
      return withParameter(sent, parameter, Math.max(1, Math.floor(asked / step)));
    },
  };
}
