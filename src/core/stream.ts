/** What a connector declares and the engine reads, as types: requests and answers, paging and its walk, streams and sources. */
import type { BadData, TidemarkError } from './errors.ts';
import type { Child, Row, Table } from './table.ts';

export type Json = unknown;

/** One HTTP request to a source, relative to its base URL. */
export interface Request {
  readonly method: 'GET' | 'POST';
  /** Path below the base URL, beginning with `/`; values in it already percent-encoded. */
  readonly path: string;
  /** Query parameters; `undefined` ones are left out; an array repeats the parameter. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** JSON body (POST). */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The route as the contract writes it, e.g. `/rest/agile/1.0/sprint/{id}/issue`: label of logs, metrics and its rate bucket. */
  readonly endpoint: string;
  /** False for what changes something at the source (a report job): never sent again by itself. */
  readonly idempotent?: false;
  /** A status by which this endpoint says that it took too long, beside those that say so everywhere. */
  readonly passing?: number;
  /** True where a good status without a body is an answer, too (something was done, and there is nothing to say); its `body` is undefined then. */
  readonly bodiless?: true;
  /** An absolute URL the server gave for the next page; replaces path and query. Refused unless it is of the configured origin. */
  readonly url?: string;
}

/** A complete answer with status 2xx. */
export interface Answer {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, decompressed, exactly as received. */
  readonly raw: Buffer;
  /** The body parsed: by the request's `parse`, else by `core/json.ts`. */
  readonly body: Json;
  /** The source's clock from the `Date` header (seconds), if it sent one. */
  readonly date: Date | undefined;
}

/** Sends requests with deadlines, retries, rate limits and credentials. Throws the classes of `core/errors.ts`. */
export interface Http {
  /** The origin that gets the credentials, e.g. `https://example.atlassian.net`. */
  readonly origin: string;
  send(request: Request, signal: AbortSignal): Promise<Answer>;
  /** Counters since creation: what a run reports. */
  readonly counters: HttpCounters;
  close(): Promise<void>;
}

export interface HttpCounters {
  requests: number;
  retries: number;
  /** Milliseconds spent waiting for a rate limit or a Retry-After, summed over concurrent requests. */
  throttledMs: number;
  /** Answers that asked for patience (429); the same request was sent again later. */
  throttled: number;
  /** When no request left because the source asked for quiet, by `performance.now()` (ms); half-open, ascending, apart from each other. */
  quiet: readonly { readonly fromMs: number; readonly untilMs: number }[];
  /** Bytes received, decompressed. */
  bytes: number;
}

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
  readonly read: number;
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
export interface SliceReading {
  readonly pages: AsyncGenerator<Page, WalkEnd, void>;
  /** Identity of a record, for rejects. Must not throw; '' if there is none. */
  readonly id: (record: Json) => string;
  /** The bytes of a record exactly as they stood in its page, for rejects. */
  readonly bytes: (record: Json, page: Page) => Buffer;
}

/** A half-open interval of source time on one field: `from <= field < to`; an absent side is open. */
export interface Window {
  /** `day`: whole days UTC to which facts belong (reports). */
  readonly field: 'created' | 'updated' | 'day';
  readonly from?: Date;
  readonly to?: Date;
}

/** The part of a stream under one owner, by the owner's key columns, e.g. `{ board_id: '7' }`. */
export type Partition = Readonly<Record<string, string>>;

/** The unit of reading, retry and progress. */
export interface Slice {
  readonly partition?: Partition;
  readonly window?: Window;
}

/**
 * The owners (boards, ad accounts) by which a stream is read one partition at a time. They are rows of the
 * warehouse, so that a resumed run finds the same ones. The conditions are SQL over the table's own columns,
 * constant text of the connector.
 */
export interface Partitions {
  /** `schema.table` */
  readonly table: string;
  /** Partition key → column of that table (read as text). */
  readonly columns: Readonly<Record<string, string>>;
  readonly where?: string;
  /**
   * Owners whose records still change: an incremental run reads only these, and all owners once a week.
   * Absent: all owners, each run.
   */
  readonly active?: string;
  /**
   * Owners that the source lists now. A 404 of one of them may mean that the endpoint is missing; of any
   * other owner it never does. Absent: all owners.
   */
  readonly listed?: string;
  /**
   * Owners outside `listed` that no other record refers to: a 404 means that the owner was deleted. Absent:
   * a 404 never means that.
   */
  readonly unreferenced?: string;
}

/** Keys that the warehouse already knows, e.g. of the entities that a report is asked for; `columns`: name in the result → column. */
export interface KeySet extends Pick<Partitions, 'table' | 'columns' | 'where'> {
  /** Only rows whose column has this value, by column. */
  readonly of?: Readonly<Record<string, string>>;
  /** Only rows whose column has one of these values, by column. */
  readonly among?: Readonly<Record<string, readonly string[]>>;
}

/** What the engine lends to a stream that reads a slice itself. */
export interface SliceContext {
  /** In the order of their columns. Null values are left out of a row. */
  keys(set: KeySet): Promise<readonly Readonly<Record<string, string>>[]>;
  /** The report job of this slice, in the warehouse's ledger: survives the process. */
  readonly job: JobLedger;
  /** The source's clock at the beginning of the run; ours where it has none. */
  readonly clock: Date;
  /** The same now: a run may last past midnight. */
  readonly now: Date;
}

/**
 * A job at the source whose result is fetched later. creating (asked for, the answer is not known: it may or
 * may not exist) · submitted (has an id) · ready · failed · expired · abandoned.
 */
export interface ReportJob {
  readonly id: string | undefined;
  readonly status: 'creating' | 'submitted' | 'ready' | 'failed' | 'expired' | 'abandoned';
  readonly submittedAt: Date | undefined;
  /** Days of its slice were read after it was submitted, for another slice. */
  readonly overtaken?: boolean;
}

/** The jobs of one slice; every call is durable when it returns. */
export interface JobLedger {
  /** The newest job of the slice, from this run or one before it; undefined if none was created yet. */
  current(): Promise<ReportJob | undefined>;
  /** Says, before it is asked for, that one is created. `request`: what is asked, as text for people. */
  creating(request: string): Promise<unknown>;
  /** The newest job has this id now. */
  submitted(id: string): Promise<unknown>;
  /** The newest job's state changed. */
  became(status: ReportJob['status'], reason?: string): Promise<unknown>;
}

/** What decides, besides the record, which rows it becomes. */
export interface MappingFingerprint {
  /** The program's own part. When it changes, everything is read again. */
  readonly edition: string;
  /** The rest, as text. Both are equal exactly where the same record becomes the same rows. */
  readonly mapping: string;
  /**
   * False where the source gave only part of `mapping`. That starts no new read of everything; more of it does.
   */
  readonly whole: boolean;
  /** Ids of the fields that are requested by name; absent where records come with all fields. */
  readonly fields?: readonly string[];
}

/** How a stream of facts is cut by whole days (UTC): a day that is read again is replaced as a whole. */
export interface Days {
  /** What the configuration restricts the stream to. When it changes, everything is read again. */
  readonly scope: string;
  /** Column of the table that says to which day a row belongs: a date, or a timestamptz within it. */
  readonly column: string;
  /** The first day of history. */
  readonly start: Date;
  /** The server has nothing older than so many days; 0: only the present day (snapshots). */
  readonly oldest?: number;
  /** Whether the present day, which is not over, is read too. */
  readonly present: boolean;
  /** The server answers at most so many days at once. */
  readonly longest: number;
  /** Restatement: every `every` days the last `back` days are read again; the smallest is of every run. */
  readonly reread: readonly { readonly every: number; readonly back: number }[];
  /**
   * A query of owners with members that became known after $2 and may have facts from before the day $3; $1
   * is the source. It gives the partition's columns as text, and `since`: the first day that may have some
   * (timestamptz; null: all of history).
   */
  readonly joined?: string;
  /** An upper bound of a slice's rows; larger ones are halved on a day's boundary. */
  rows(slice: Slice, context: SliceContext): Promise<number>;
}

/** How a stream is cut by time of creation or of change. */
export interface Windows {
  /**
   * What the configuration restricts the stream to (extra filter, start of history). When it changes,
   * everything is read again.
   */
  readonly scope: string;
  /**
   * By what the records become rows, found out once a run. When that changes, everything is read again.
   * Absent: it never does. `doubtful`: the answer lacked what an earlier run had; the source is asked once
   * more, and the union of both answers counts from then on.
   */
  reading?(signal: AbortSignal, doubtful?: boolean): Promise<MappingFingerprint>;
  /** How many records a slice holds, if the server can say so cheaply; undefined if it cannot. */
  count(slice: Slice, signal: AbortSignal): Promise<number | undefined>;
  /** Which field the server can filter changes by, found out once a run. */
  changes(signal: AbortSignal): Promise<'updated' | 'created'>;
  /**
   * The record's own instant, to drop what a coarse server filter let through; undefined where the record has
   * none.
   */
  instant(record: Json, field: Window['field']): bigint | undefined;
}

/**
 * How the records of a slice are had: page by page, or in a way of the stream's own (one request a record,
 * report jobs, CSV).
 */
type ReadsSlice =
  | {
      /** The requests that list one slice. May ask the server first which dialect it speaks. */
      readonly pages: (slice: Slice, signal: AbortSignal) => Promise<PageWalk> | PageWalk;
      readonly read?: never;
    }
  | {
      readonly read: (
        slice: Slice,
        context: SliceContext,
        signal: AbortSignal,
      ) => Promise<SliceReading> | SliceReading;
      readonly pages?: never;
    };

/** How a stream is read; the engine has one strategy for each `by`. */
type ReadsBy =
  /** Listed whole in each run. */
  | { readonly by: 'list'; readonly windows?: never; readonly days?: never }
  /** First by windows of creation, then by windows of change. */
  | { readonly by: 'changes'; readonly windows: Windows; readonly days?: never }
  /** Facts: whole days UTC, replaced day by day. */
  | { readonly by: 'days'; readonly days: Days; readonly windows?: never };

/** The reading half of a stream: what the source offers. */
export type ReadSide = ReadsBy &
  ReadsSlice & {
    readonly name: string;
    /** One sentence for docs and `tidemark streams`. */
    readonly about: string;
    /** The route of the contract or vendor, for docs. */
    readonly endpoint: string;
    /**
     * The contract does not promise the endpoint: where it is missing the stream is `unavailable`, and the
     * run does not fail.
     */
    readonly optional?: true;
    /** The list shows only what is recent or due: a row that it does not show still exists. */
    readonly recentOnly?: true;
    /** Streams that must have been loaded before this one in a run. */
    readonly after?: readonly string[];
    readonly partitions?: Partitions;
    /** About how many requests a slice takes, by what the warehouse knows of it. Absent: that is not known. */
    readonly requests?: (slice: Slice, context: SliceContext) => Promise<number>;
    /** Requests a second that the source allows for streams like this one; absent: as many as we like. */
    readonly perSecond?: number;
    /**
     * The same records by id alone, in the largest pages the server gives, for reconciliations. Absent:
     * `pages` is as cheap.
     */
    readonly ids?: (slice: Slice, signal: AbortSignal) => Promise<PageWalk>;
    /** Whether the entity still exists, by one request: a deletion is confirmed by it (guarantee G10). */
    readonly exists?: (key: string, signal: AbortSignal) => Promise<boolean>;
    /**
     * Column whose equal value makes another row a canary for this one (issues: the project). Absent: any row
     * is.
     */
    readonly canaryBy?: string;
    /**
     * Condition on a row `t` that its source lists no more: another record owns its key, which is proof enough
     * without a canary (guarantee G10). Absent: none is.
     */
    readonly replaced?: string;
    /** The connector leaves out single rows of it by itself (`exclude`: `projects:WEB`), with what belongs to them. */
    readonly canLeaveOut?: true;
    /** Rows that the configuration leaves out, as SQL over the row `t`: no reconciliation asks for them. */
    readonly leftOut?: string;
  };

/** A list that arrived only in part with its record, and how to fetch the rest. */
export interface NestedList {
  /** Name of the child in `Stream.children`. */
  readonly child: string;
  readonly walk: PageWalk;
  /** Ids of the elements that came with the record itself: the complete list must have them, too. */
  readonly shown?: readonly string[];
  /** How many elements the record says its list has; absent: it does not say. */
  readonly stated?: number | undefined;
  /** How the source gives such lists of many records at once: one object for all records; absent: it does not. Needs `stated`. */
  readonly bulk?: BulkLists;
  /** Rows of the complete list; pure. What of it cannot become rows is given to `bad`; without `bad` it is thrown. */
  rows(records: readonly Json[], bad?: TakeBadPart): readonly Row[];
  /** What the list names in passing, as `Mapped.mentions`. */
  mentions?(records: readonly Json[]): readonly Row[];
}

/** What a bulk reading of lists may build on. */
export interface BulkContext extends Pick<SliceContext, 'keys'> {
  /** The records are those that changed since this instant; undefined: they are not chosen by that. */
  readonly since: Date | undefined;
  readonly signal: AbortSignal;
}

/**
 * The same list of many records, in one walk over the elements of all of them. A list that comes with fewer elements
 * than its record states is read by itself.
 */
export interface BulkLists {
  /** Records that one walk may ask for. */
  readonly most: number;
  /**
   * `keys`: of the records, in the stream's table, as text. Undefined where the lists one by one are fewer requests.
   */
  walk(keys: readonly string[], context: BulkContext): PageWalk | Promise<PageWalk | undefined>;
  /** Whose an element of the walk is, and the element as the list of that record alone shows it. */
  elementOf(element: Json): { readonly key: string; readonly record: Json };
}

/** A part of a record, e.g. a comment, that cannot become rows. It is a reject of its own: the record is stored without it. */
export interface BadPart {
  /** Name of the child in `Stream.children` that its rows would belong to. */
  readonly child: string;
  /** The part as it came: the same object as in the record. Absent where only the rows of the child are known. */
  readonly part?: Json;
  readonly error: BadData;
  /** What its rows need besides it, for `Stream.partRows`. */
  readonly given?: Json;
}

export type TakeBadPart = (bad: BadPart) => void;
/** What one record becomes. */
export interface Mapped {
  readonly row: Row;
  /** Rows by child name. A name that is absent was not delivered: its rows are left as they are. */
  readonly children: Readonly<Record<string, readonly Row[]>>;
  /**
   * Names of children of which the record shows only some rows: these are written, the other rows of that
   * child stay.
   */
  readonly partial?: readonly string[];
  /** Rows of `LoadSide.mentions`: what the record names in passing. They do not enter its hash. */
  readonly mentions?: readonly Row[];
  /** Parts that are rejected by themselves. Of their children the stored rows stay, as if these were `partial`. */
  readonly badParts?: readonly BadPart[];
  /** Lists that came truncated; fetched only if the record's content changed. */
  readonly nestedLists?: readonly NestedList[];
  /**
   * Things worth a note but no reject, e.g. a field whose type changed: kept in `_extra`, reported in
   * `ops.schema_changes`.
   */
  readonly notes?: readonly string[];
}

/**
 * Where the rows of a stream come from when the server has no list of them: other tables of the warehouse.
 */
export interface Fallback {
  /**
   * One sentence for reports, e.g. `the server lists no sprints; they come from the issues' sprint field`.
   */
  readonly reason: string;
  /** Streams that must have been loaded before `sql` runs. */
  readonly after: readonly string[];
  /**
   * One repeatable statement of ours; $1 is the source_id, $2 the run_id. Returns one row of bigints:
   * `inserted`, `updated` and, where it deletes, `deleted`.
   */
  readonly sql: string;
}

/** Something to do or check in the warehouse when a stream has been read without a failure. */
export interface Afterwards {
  /** Streams that must have been loaded, too, before `sql` runs; none that comes after this stream. */
  readonly after?: readonly string[];
  /** True: also where parts of the stream could not be read. */
  readonly evenInPart?: true;
  /**
   * One repeatable statement of ours; $1 is the source_id, $2 the run_id, $3 the source's clock. Rows with a
   * column `warning` become notes of the run; columns `inserted`, `updated` and `deleted` (bigint) count as
   * the stream's.
   */
  readonly sql: string;
}

/** Turns a record into rows; pure. Throws `BadData` for a record that cannot become rows. */
export type Transform = (record: Json, slice: Slice) => Mapped;

/** The loading half of a stream: what its records become, and what happens to rows that are gone. */
export interface LoadSide {
  readonly table: Table;
  readonly children?: Readonly<Record<string, Child>>;
  /** A relation for what records name in passing, e.g. their authors: each once, as it was read last. */
  readonly mentions?: Table;
  readonly transform: Transform;
  /** The rows of a part that was rejected by itself, for a replay. Throws `BadData`. Absent: it waits for the source. */
  readonly partRows?: (child: string, part: Json, given: Json) => readonly Row[];
  /**
   * For days: the columns of the key, as text, of the row that a record is about. The stored row stays where
   * the record cannot become a row. Throws `BadData` where the record does not say.
   */
  readonly keyOf?: (record: Json, slice: Slice) => Readonly<Record<string, string>>;
  /**
   * What a complete reading with a matching receipt does to rows of the same scope (partition, days or the
   * entire table) that it did not show. 'delete': for relations, reports, and entities whose list is the
   * truth about them (rows of a table with tombstones are tombstoned, up to the deletion limit of G10).
   * 'keep': deletions come from `reconcile`.
   */
  readonly absent: 'delete' | 'keep';
  /** What fills the table where the stream is `unavailable`. */
  readonly fallback?: Fallback;
  readonly afterwards?: readonly Afterwards[];
}

/** One kind of record of a source: how it is read, what it becomes, and where it goes. */
export type Stream = ReadSide & LoadSide;

/** A record as a query of its source finds it. */
export interface FoundRecord {
  /** By which people know it: `WEB-7`. */
  readonly name: string;
  readonly changedAt: Date | undefined;
}

/** Finds the records of one stream by a query in the source's own language. */
export interface Finder {
  readonly stream: string;
  /** The view of `bi` that shows these records, and its columns of their id and name. */
  readonly view: Readonly<Record<'table' | 'id' | 'name', string>>;
  /**
   * What the query finds, by id. `isOurs`: only among the records that the pipeline reads. Throws `Misconfigured`
   * where the source refuses the query, and `Transient` where the list kept changing.
   */
  find(query: string, isOurs: boolean, signal: AbortSignal): Promise<ReadonlyMap<string, FoundRecord>>;
  /** The record with this id; undefined where the source does not show it. */
  look(id: string, signal: AbortSignal): Promise<Pick<FoundRecord, 'changedAt'> | undefined>;
}

/** One source system, opened: its streams and what it takes to trust them. */
export interface Source {
  /** Pipeline and `ops.sources.name`. */
  readonly name: string;
  /** The Postgres schema of its tables. */
  readonly kind: string;
  readonly baseUrl: string;
  readonly streams: readonly Stream[];
  /**
   * One authenticated request. Throws AuthFailed, Unreachable or Misconfigured; gives the source's clock and
   * our account there.
   */
  preflight(signal: AbortSignal): Promise<Preflight>;
  /** Absent where the source has no language for queries. */
  readonly finder?: Finder | undefined;
  readonly http: Http;
  close(): Promise<void>;
}

export interface Preflight {
  /** The source's clock (Date header); undefined if it sends none: then watermarks do not advance. */
  readonly clock: Date | undefined;
  /** The account's name or e-mail, for `check`. */
  readonly account: string | undefined;
  /** When the token ends that signs us in, where that is known. */
  readonly tokenEnds?: Date | undefined;
  /** What was found out, one sentence each, e.g. `search: offset paging (contract)`. */
  readonly dialect: readonly string[];
  /**
   * What the main stream needs and cannot be had, e.g. a search that is closed to us. A run goes on without
   * it, `check` fails.
   */
  readonly problems: readonly TidemarkError[];
}
