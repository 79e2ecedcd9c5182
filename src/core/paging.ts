import type { Answer, Json, Request } from './request.ts';

/** Where the next page is. */
export interface Next {
  readonly request: Request;
  /**
   * How many records at the head of the next page must repeat the tail of this one (offset paging asks for 1: the seam).
   * 0 where the server keeps the place itself (cursor, page token).
   */
  readonly overlap: number;
}

/** A paging scheme. Pure: everything it needs is in the answer, the request that was sent and the count of records received. */
export interface Paging {
  /**
   * The next page, or undefined at the stated end. `count` is how many records the page held, `repeated` (default 0) how many of them, at
   * its head, were asked for again for the seam. `headers` are the answer's.
   */
  next(
    body: Json,
    sent: Request,
    count: number,
    repeated?: number,
    headers?: Answer['headers'],
  ): Next | undefined;
  /** The total the answer states, where it states one. */
  total(body: Json): number | undefined;
  /** The place of the page's first record, as the answer states it or the request asked for; undefined where the server keeps the place. */
  readonly offset?: (body: Json, sent: Request) => number | undefined;
  /** The same request, `by` records earlier (never before the first); only schemes that can be read backwards have it. */
  readonly rewind?: (sent: Request, by: number) => Request;
  /**
   * Pages are asked for by their number alone: what leaves the list before the next one moves the rest up, unseen. Such a walk does not hang
   * together where its total changes on the way; where the server states none, nothing tells (see `linkHeader`).
   */
  readonly numbered?: true;
}

/** One walk over pages: the first request and how to read the answers. */
export interface PageWalk {
  readonly first: Request;
  readonly paging: Paging;
  /** The records of a body, in the server's order. Throws `UnexpectedContent` where the list is absent or not an array. */
  readonly list: (body: Json) => readonly Json[];
  /**
   * What to ask for instead where a page failed by `error` and that may help: the same place with fewer records at
   * once, or the same records of another list; absent: nothing.
   */
  readonly fewer?: (sent: Request, error: unknown) => Request | undefined;
  /** Identity of a record within this walk: for seams, the loop guard and de-duplication. Must not throw; '' if there is none. */
  readonly id: (record: Json) => string;
}

/** One page as it arrived. */
export interface Page {
  readonly records: readonly Json[];
  /** The answer's bytes, for rejects. */
  readonly raw: Buffer;
  /** What the server said the total is, if it did. */
  readonly total?: number | undefined;
  /** The offset of the first record, for schemes that have one. */
  readonly offset?: number | undefined;
}

/** How a walk ended. */
export interface WalkEnd {
  /** The last total that the source stated; null where it states none. */
  readonly expected: number | null;
  /** Distinct records delivered. */
  readonly fetched: number;
  /** How often the list was walked from its beginning; 0: there was nothing to ask for. */
  readonly passes: number;
  /**
   * True where the last pass hangs together without a gap and met at least `expected` records. In a list of stable order then no record
   * is missing that was there during that whole pass.
   */
  readonly matched: boolean;
  /** True where the list is incomplete by the source's own word: a record that it does not show is not gone. */
  readonly lacks?: true;
}

/** A slice being read: what the engine pulls, page by page. The next page may be fetched while the consumer works on this one. */
export interface Reading {
  readonly pages: AsyncGenerator<Page, WalkEnd, void>;
  /** Identity of a record, for rejects. Must not throw; '' if there is none. */
  readonly id: (record: Json) => string;
  /** The bytes of a record exactly as they stood in its page, for rejects. */
  readonly bytes: (record: Json, page: Page) => Buffer;
}
