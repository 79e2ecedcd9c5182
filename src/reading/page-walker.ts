/** The state of a walk: records seen, whether the pages join, and which page comes next. No input or output. */

import { saidBy, TidemarkError, UnexpectedContent } from '../core/errors.ts';
import { isObject, kindOf } from '../core/record.ts';
import type { Answer, Json, Next, Page, PageWalk, Paging, Request, WalkEnd } from '../core/stream.ts';
import { LoopGuard, type WalkLimits } from './loop-guard.ts';

/** A page to deliver, if this one counts, and the request to send next, unless the walk is over. */
export interface WalkStep {
  readonly page: Page | undefined;
  readonly next: Request | undefined;
}

/**
 * What the next answer must begin with: nothing particular · something unknown, because a page of one record, or one known by its number alone, leaves no room for a seam ·
 * the last record of the page before · while stepping back, any record that this pass has met.
 */
type Head =
  | { readonly is: 'free' }
  | { readonly is: 'unseen' }
  | { readonly is: 'seam'; readonly id: string; readonly overlap: number }
  | { readonly is: 'met'; readonly by: number };

const free: Head = { is: 'free' };

/** What the page that follows one which ends with the record `last` must begin with. */
const headAfter = ({ overlap }: Next, paging: Paging, last: string | undefined): Head => {
  if (paging.numbered === true) return { is: 'unseen' };
  if (paging.rewind === undefined || last === undefined || last === '') return free;
  return overlap === 0 ? { is: 'unseen' } : { is: 'seam', id: last, overlap };
};

/** Asks a member of a walk. An error of its own, e.g. over what the answer lacks, costs the stream and not the run. */
const ask = <T>(member: string, { endpoint }: Request, work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof TidemarkError) throw cause;
    throw new UnexpectedContent(`${endpoint}: the connector's ${member} fails: ${saidBy(cause)}`, { cause });
  }
};

/** What a connector says comes next, which may be written without a type checker. Throws where it cannot be asked for. */
function askable(next: Next | undefined): Next | undefined {
  if (next === undefined) return next;
  const not = (value: unknown, wanted: string) => new TypeError(`it gives ${kindOf(value)} ${wanted}`);
  if (!isObject(next)) throw not(next, 'instead of { request, overlap } or undefined');
  const { request, overlap } = next;
  if (!isObject(request)) throw not(request, 'as request');
  if (!String(request.path).startsWith('/')) throw not(request.path, 'without / as request.path');
  if ('url' in request && typeof request.url !== 'string') throw not(request.url, 'as request.url');
  if (!Number.isSafeInteger(overlap)) throw not(overlap, 'as overlap');
  return next;
}

/** Common page sizes: a page of one of these lengths may be the first of more. */
const usualLimits: ReadonlySet<number> = new Set(
  '10 15 20 25 30 40 50 60 64 75 80 100 120 128 150 200 250 256 300 400 500 1000 2000 5000'
    .split(' ')
    .map(Number),
);

/** The state of one walk. */
export class PageWalker {
  readonly #walk: PageWalk;
  readonly #limits: WalkLimits;
  readonly #loopGuard: LoopGuard;
  /** Record id → the last pass that met it. */
  readonly #met = new Map<string, number>();
  #pass = 1;
  #restarts = 0;
  #metInPass = 0;
  #nameless = 0;
  #head: Head = free;
  /** Records of the last page that counted: how far to step back at first. */
  #size = 1;
  #mends = 0;
  #gap = false;
  #total: number | undefined;

  constructor(walk: PageWalk, limits: WalkLimits) {
    this.#walk = walk;
    this.#limits = limits;
    this.#loopGuard = new LoopGuard(walk.first, limits);
  }

  /** Takes the answer to `sent`. Throws `UnexpectedContent` where its list is absent, `PagingLoop` in a circle. */
  take(answer: Answer, sent: Request): WalkStep {
    const { list, id, paging } = this.#walk;
    const all = ask('list', sent, () => list(answer.body));
    if (!Array.isArray(all))
      throw new UnexpectedContent(`${sent.endpoint}: the list of the answer is not a list`);
    const ids = ask('id', sent, () => all.map(id));
    this.#loopGuard.page();
    const total = ask('paging.total', sent, () => paging.total(answer.body));
    this.#compare(total);
    this.#begin(answer.body, sent, total);

    const repeated = this.#repeated(ids);
    const back = repeated === 0 ? this.#stepBack(ids, sent) : undefined;
    if (back !== undefined) return { page: undefined, next: back };

    const before = this.#metInPass;
    const records = all.filter((_, place) => this.#meet(ids[place] ?? '', place < repeated));
    const following = ask('paging.next', sent, () =>
      askable(paging.next(answer.body, sent, all.length, repeated, answer.headers)),
    );
    this.#head = following === undefined ? free : headAfter(following, paging, ids.at(-1));
    this.#size = Math.max(1, all.length);
    const next = following?.request ?? this.#passAgain();
    if (following !== undefined)
      this.#loopGuard.onward(following.request, all.length, this.#metInPass - before);
    const offset = paging.offset?.(answer.body, sent);
    return { page: { records, raw: answer.raw, total, offset }, next };
  }

  /** The walk's first request, for a new pass; what was delivered stays delivered. */
  restart(): Request {
    this.#restarts++;
    return this.#newPass();
  }

  end(): WalkEnd {
    return {
      expected: this.#total ?? null,
      read: this.#met.size + this.#nameless,
      passes: this.#pass,
      matched: this.#matched(),
    };
  }

  /** What a changed total tells: a list that grows may well push known records onto the next page; where no seam shows a gap, this does. */
  #compare(total: number | undefined): void {
    if (total === undefined) return;
    if (this.#total !== undefined && total > this.#total)
      this.#loopGuard.grew(Math.ceil((total - this.#total) / Math.max(1, this.#size - 1)));
    if (this.#head.is === 'unseen' && total !== this.#total) this.#gap = true;
    this.#total = total;
  }

  /** A first page that is none: what lies before it is not shown, and without a total nothing else would tell. */
  #begin(body: Json, sent: Request, total: number | undefined): void {
    const { first, paging } = this.#walk;
    const place = (answer: Json): number => paging.offset?.(answer, sent) ?? 0;
    if (sent === first && total === undefined && place(body) > place(undefined)) this.#gap = true;
  }

  /**
   * The request to step back to where the page does not join on to what this pass has met: records may lie between, and everything that
   * stayed in the list lies behind the last record met. Undefined where it joins, or where stepping back is over.
   */
  #stepBack(ids: readonly string[], sent: Request): Request | undefined {
    const head = this.#head;
    const [first] = ids;
    if (
      head.is === 'free' ||
      head.is === 'unseen' ||
      first === '' ||
      (head.is === 'seam' && first === head.id)
    )
      return undefined;
    const { rewind, offset } = this.#walk.paging;
    // The beginning of the list joins on to everything, and a record that was met lies before all that was not.
    if ((first !== undefined && this.#isMet(first)) || (head.is === 'met' && offset?.(undefined, sent) === 0))
      return undefined;
    if (head.is === 'seam') this.#mends++;
    if (rewind === undefined || this.#mends > this.#limits.mends) {
      this.#gap = true;
      return undefined;
    }
    const by = head.is === 'met' ? head.by * 2 : this.#size;
    this.#head = { is: 'met', by };
    this.#loopGuard.back(Math.ceil(by / this.#size));
    return rewind(sent, by);
  }

  /** How many records, from the head of the page, are here only because they were asked for again. */
  #repeated(ids: readonly string[]): number {
    const head = this.#head;
    if (head.is === 'seam' && ids[0] === head.id) return head.overlap;
    // Who steps back to the beginning meets again all that was met, too, and has the rest before him.
    if (head.is === 'free' || head.is === 'met' || this.#walk.paging.rewind === undefined) return 0;
    // All that was met and nothing else: the server gives everything at once, whatever place it is asked for. Unless it is the first page of more.
    const isAll = ids.length === this.#metInPass && ids.every((id) => this.#isMet(id));
    return isAll && !usualLimits.has(ids.length) ? ids.length : 0;
  }

  #isMet(id: string): boolean {
    return this.#met.get(id) === this.#pass;
  }

  /** Notes a record; true if it is to be delivered. One without an id always is, except at the seam. */
  #meet(id: string, atSeam: boolean): boolean {
    if (id === '') {
      if (atSeam) return false;
      this.#metInPass++;
      if (this.#pass === 1) this.#nameless++;
      return true;
    }
    if (this.#isMet(id)) return false;
    this.#metInPass++;
    const known = this.#met.has(id);
    this.#met.set(id, this.#pass);
    return !known;
  }

  #matched(): boolean {
    return !this.#gap && (this.#total === undefined || this.#metInPass >= this.#total);
  }

  #passAgain(): Request | undefined {
    return this.#matched() || this.#pass - this.#restarts >= this.#limits.passes
      ? undefined
      : this.#newPass();
  }

  #newPass(): Request {
    this.#pass++;
    this.#metInPass = 0;
    this.#mends = 0;
    this.#gap = false;
    this.#head = free;
    this.#loopGuard.fromStart();
    return this.#walk.first;
  }
}
