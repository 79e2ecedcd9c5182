/** Notices a server that sends us round in circles (guarantee G16), in bounded time. */

import { hash } from 'node:crypto';
import { PagingLoop } from '../core/errors.ts';
import type { Request } from '../core/stream.ts';

/** Pages of growth that are believed, per walk. */
const mostGrowth = 1000;

/** Bounds of a walk. */
export const defaultWalkLimits = {
  /** Passes over a list that does not add up to its total. */
  passes: 3,
  /** Pages in all, discarded ones included. */
  pages: 100_000,
  /** Pages in a row without a new key: a circle. */
  stalePages: 3,
  /** Empty pages in a row that are followed because they name a next one. */
  emptyPages: 50,
  /** Gaps that are mended by stepping back, per pass. */
  mends: 100,
};

export type WalkLimits = Readonly<typeof defaultWalkLimits>;

/** Counts what a walk has asked and what it got for it. */
export class LoopGuard {
  readonly #first: Request;
  readonly #limits: WalkLimits;
  /** Digests of the requests since the last start or step back. */
  readonly #asked = new Set<string>();
  #pages = 0;
  #stale = 0;
  #empty = 0;
  /** Pages of this pass that may bring nothing new: a step back asked for them again, or the list grew. */
  #again = 0;
  #growth = 0;

  constructor(first: Request, limits: WalkLimits) {
    this.#first = first;
    this.#limits = limits;
    this.#asked.add(digest(first));
  }

  /** A page arrived. */
  page(): void {
    if (++this.#pages > this.#limits.pages) throw this.#loop(`more than ${this.#limits.pages} pages`);
  }

  /** The walk goes on to `next` after a page of `count` records, `fresh` of which this pass had not met. */
  onward(next: Request, count: number, fresh: number): void {
    const asked = digest(next);
    if (this.#asked.has(asked)) throw this.#loop('the same page was named twice');
    this.#asked.add(asked);
    this.#empty = count === 0 ? this.#empty + 1 : 0;
    if (this.#empty > this.#limits.emptyPages) throw this.#loop(`${this.#empty} empty pages in a row`);
    if (fresh > 0) this.#stale = 0;
    else if (count > 0 && ++this.#stale >= this.#limits.stalePages + this.#again)
      throw this.#loop(`${this.#stale} pages in a row without a new record`);
  }

  /** The list grew by about so many pages: as many may show known records again, pushed on. Not for ever. */
  grew(pages: number): void {
    const believed = Math.min(pages, mostGrowth - this.#growth);
    this.#growth += believed;
    this.#again += believed;
  }

  /** The walk steps back by about so many pages. */
  back(pages: number): void {
    this.#asked.clear();
    this.#again += pages;
  }

  fromStart(): void {
    this.#asked.clear();
    this.#asked.add(digest(this.#first));
    this.#stale = 0;
    this.#empty = 0;
    this.#again = 0;
  }

  #loop(what: string): PagingLoop {
    return new PagingLoop(`${this.#first.endpoint}: the server sends us round in circles: ${what}`);
  }
}

const digest = ({ url, path, query, body }: Request): string =>
  hash('sha1', JSON.stringify([url ?? [path, query], body]), 'base64');
