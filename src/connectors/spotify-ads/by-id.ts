/** Requests for one entity each: those that fail do not keep the others from being read. */

import {
  Forbidden,
  Missing,
  passesAfter,
  RateLimited,
  Refused,
  TooLarge,
  Transient,
  UnexpectedContent,
} from '../../core/errors.ts';
import type { Page, Reading, WalkEnd } from '../../core/paging.ts';
import { mapConcurrent } from '../../reading/map-concurrent.ts';
import { idBy } from '../../reading/offset-list.ts';
import type { Ads } from './ads.ts';
import { entityOf } from './lists.ts';

/** What a request for one entity may fail by while others are answered. */
export type Failure = Forbidden | Refused | TooLarge | Transient | UnexpectedContent;

/** Other errors concern the source, the credentials or the run: the next request would fail as well. */
export const isOfOne = (cause: unknown): cause is Failure =>
  [Forbidden, Refused, TooLarge, Transient, UnexpectedContent].some((one) => cause instanceof one) &&
  !(cause instanceof RateLimited);

/** After this many failures in a row the fault is not with single entities. */
const mostInARow = 10;

interface Failures {
  readonly answered: () => void;
  /** Keeps a failure for the end. Throws all of them after `mostInARow`, which bounds what a broken source costs. */
  readonly keep: (what: string, failure: Failure) => void;
  /** All of them as one error that names them; undefined where nothing failed. */
  readonly asOne: () => Failure | undefined;
}

/** `where`: the endpoint; `asked`: how many requests there are. */
export const failures = (where: string, asked: number): Failures => {
  const all = new Map<string, Failure>();
  let inARow = 0;
  const asOne = (): Failure | undefined => {
    const each = [...all.values()];
    // One that may pass by itself is worth another try, whatever the others call for.
    const first = each.find((one) => passesAfter(one) !== undefined) ?? each[0];
    return first && withMessage(first, `${where}: ${all.size} of ${asked} failed: ${named(all)}`);
  };
  return {
    answered: () => {
      inARow = 0;
    },
    keep: (what, failure) => {
      all.set(what, failure);
      inARow += 1;
      if (inARow === mostInARow) throw asOne();
    },
    asOne,
  };
};

const withMessage = (cause: Failure, message: string): Failure => {
  if (cause instanceof Refused) return new Refused(message, cause.status, cause.messages, { cause });
  if (cause instanceof Transient) return new Transient(message, { cause, retryAfterMs: cause.retryAfterMs });
  if (cause instanceof Forbidden) return new Forbidden(message, { cause });
  return cause instanceof TooLarge
    ? new TooLarge(message, { cause })
    : new UnexpectedContent(message, { cause });
};

/** Which ones, for people: five of them, and the first reason. */
export const named = (errors: ReadonlyMap<string, Error>): string => {
  const [first] = errors.values();
  const more = errors.size > 5 ? ` and ${errors.size - 5} more` : '';
  return `${[...errors.keys()].sort().slice(0, 5).join(', ')}${more} (${first?.message ?? ''})`;
};

export interface Wanted {
  /** Each once. */
  readonly ids: readonly string[];
  /** The route as the contract writes it. */
  readonly endpoint: string;
  readonly path: (id: string) => string;
  /** Whether an entity that is not there (404, 410) was there before. Absent: each was. */
  readonly wasThere?: (id: string) => boolean;
}

/**
 * One page an entity. One that is not there (404, 410) keeps its row, with a note; one that never was there fails. What can be
 * read is read before a failure is thrown. Where nothing can be read, the first 404 is thrown: it may be the endpoint. The
 * receipt expects as many records as there are ids, less those that the source says it does not have (guarantee G13).
 */
export const byId = (ads: Ads, wanted: Wanted, signal: AbortSignal): Reading => ({
  pages: pagesOf(ads, wanted, signal),
  id: idBy('id'),
  bytes: (_, { raw }) => raw,
});

async function* pagesOf(
  { http, concurrency, note }: Ads,
  { ids, endpoint, path, wasThere = () => true }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Page, WalkEnd, void> {
  const absent = new Map<string, Missing>();
  const failed = failures(endpoint, ids.length);
  const pageOf = async (id: string, until: AbortSignal): Promise<Page | undefined> => {
    try {
      const { raw, date, receivedAt, body } = await http.send(
        { method: 'GET', path: path(id), endpoint },
        until,
      );
      const records = [entityOf(endpoint, id, body)];
      failed.answered();
      return { records, raw, date, receivedAt, total: ids.length, offset: undefined };
    } catch (cause) {
      const isAbsent = cause instanceof Missing && (cause.status === 404 || cause.status === 410);
      if (isAbsent && wasThere(id)) {
        absent.set(id, cause);
        failed.answered();
      } else if (isAbsent) {
        const message = `${cause.message}; it was never there: is its id right?`;
        failed.keep(id, new Refused(message, cause.status, [], { cause }));
      } else if (isOfOne(cause)) failed.keep(id, cause);
      else throw cause;
      return undefined;
    }
  };
  let fetched = 0;
  for await (const page of mapConcurrent(ids, concurrency, pageOf, signal))
    if (page !== undefined) {
      fetched++;
      yield page;
    }
  const failure = failed.asOne();
  const [first] = absent.values();
  if (failure === undefined && first !== undefined && fetched === 0) throw first;
  if (first !== undefined)
    note(`${endpoint}: ${absent.size} of ${ids.length} are not there and keep their rows: ${named(absent)}`);
  if (failure !== undefined) throw failure;
  const expected = ids.length - absent.size;
  const passes = ids.length === 0 ? 0 : 1;
  return { expected, fetched, passes, matched: true, ...(absent.size > 0 && { lacks: true }) };
}
