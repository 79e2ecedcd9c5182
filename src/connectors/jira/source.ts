/** The issue tracker, opened: streams, transforms and tables joined into flows. */

import {
  AuthFailed,
  BadData,
  Interrupted,
  Misconfigured,
  TidemarkError,
  Unreachable,
} from '../../core/errors.ts';
import { once } from '../../core/memoize-async.ts';
import type { Json } from '../../core/request.ts';
import type { Observe } from '../../core/run.ts';
import type { Flow, Preflight, Source } from '../../core/stream.ts';
import { createHttp } from '../../http/client.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import { type Account, askAccount } from './account.ts';
import { trackerHttp } from './client.ts';
import { fieldRecords, issueFields, type KnownFields } from './fields.ts';
import { trackerFlows } from './flows.ts';
import type { Tracker } from './jira.ts';
import { filterOf } from './jql.ts';
import { tails } from './nested-lists.ts';
import { openSearch } from './search.ts';
import { field } from './transform/entities.ts';
import {
  type Catalogue,
  catalogueOf,
  customIn,
  edition,
  type FieldFact,
  issuesReadBy,
  noCatalogue,
} from './transform/field-catalogue.ts';
import { type DetailWalks, issueMapper } from './transform/issue.ts';

export type { HttpEvent } from '../../http/http-options.ts';

/** What opening a tracker takes; `TrackerConfig` of src/connectors/jira/config.ts is one. */
export interface TrackerSettings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly email: string;
  readonly apiToken: { reveal(): string };
  readonly jql?: string;
  readonly start: Date;
  readonly changes: 'auto' | 'updated' | 'created';
  readonly groups: readonly string[];
  readonly concurrency: number;
  /** 0: as many as the server allows. */
  readonly requestsPerSecond: number;
}

export interface TrackerDeps {
  /** Told what was found out that a person should know. */
  readonly observe?: Observe;
  /** Further settings of the HTTP client: version, deadlines, retries, its own events. */
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'authorize'>>;
}

const name = 'tracker';

/**
 * Asks nothing yet. What the server speaks is found out once and kept as long as the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL or a TRACKER_JQL that cannot be used.
 */
export const openTracker = (settings: TrackerSettings, deps: TrackerDeps = {}): Source => {
  const filter = filterOf(settings.jql);
  const note = (message: string) => deps.observe?.({ type: 'note', pipeline: name, level: 'warn', message });
  const http = trackerHttp(createHttp(httpOptions(settings, deps)), note);
  let mapIssue: Flow['via'] | undefined;
  const tracker: Tracker = {
    http,
    account: once((signal) => askAccount(http, signal)),
    groups: settings.groups,
    reading: async (signal, doubtful = false) => {
      if (doubtful) known = learntTwice;
      const { catalogue, complete } = await known(signal);
      return {
        edition,
        words: issuesReadBy(catalogue),
        whole: complete,
        // Of lists that may leave some out all fields are asked for.
        ...(complete && { fields: customIn(catalogue) }),
      };
    },
    search: openSearch({
      http,
      scope: { start: settings.start, filter },
      account: (signal) => tracker.account(signal),
      changes: settings.changes,
      note,
      fields: (signal) => learn(signal),
    }),
  };
  const asked = (signal: AbortSignal): Promise<KnownFields | undefined> => fieldRecords(tracker, signal);
  /**
   * Reads the site's fields: what to ask for of an issue, and what its custom fields mean. One answer alone does not say that there is no list of them,
   * nor that there is nothing in it: an issue has fields.
   */
  const learning = once(async (signal) => {
    const fields = await asked(signal);
    return fields === undefined || fields.records.length === 0 ? asked(signal) : fields;
  });
  const learnt = once(async (signal) => knowledgeOf(await learning(signal)));
  const learntTwice = once(async (signal) =>
    knowledgeOf(bothOf(await learning(signal), await asked(signal))),
  );
  let known = learnt;
  let mapped: Catalogue | undefined;
  /** What to ask for of an issue, and how to read it. */
  const learn = async (signal: AbortSignal): Promise<readonly string[]> => {
    const { facts, catalogue, complete } = await known(signal);
    if (mapped !== catalogue) {
      mapped = catalogue;
      // Also where the search gives these lists: it may leave out that of a single issue, or have had no issue to show that it gives none.
      mapIssue = issueMapper(catalogue, detailWalksOf, {
        fetchDetails: { changelog: true, comments: true, worklogs: true },
      });
    }
    // A list that did not add up still says what its fields mean, but not that there are no others.
    return issueFields(
      [...(facts ?? [])].map(([id, { custom }]) => ({ id, custom })),
      complete,
    );
  };
  return {
    name,
    kind: 'tracker',
    baseUrl: settings.baseUrl,
    http,
    flows: trackerFlows(tracker, (record, slice) => {
      if (mapIssue === undefined)
        throw new Error('the fields of the tracker are not known yet: preflight comes first');
      return mapIssue(record, slice);
    }),
    preflight: async (signal) => {
      const account = await tracker.account(signal);
      // Who we are is known: the fields may come while the search is questioned. Should they fail, they are asked for again below.
      learning(signal).catch(() => undefined);
      return preflight(account, tracker, learn, signal);
    },
    close: () => http.close(),
  };
};

/** What the site's fields mean. */
interface Knowledge {
  readonly facts: ReadonlyMap<string, FieldFact> | undefined;
  readonly catalogue: Catalogue;
  readonly complete: boolean;
}

const knowledgeOf = (fields: KnownFields | undefined): Knowledge => {
  const facts = fields && factsOf(fields.records);
  return {
    facts,
    catalogue: facts === undefined ? noCatalogue : catalogueOf(facts),
    complete: fields?.complete === true,
  };
};

/** The fields that either of two answers tells of, the later one's words first. */
const bothOf = (one: KnownFields | undefined, other: KnownFields | undefined): KnownFields | undefined =>
  one && other
    ? { records: [...one.records, ...other.records], complete: one.complete && other.complete }
    : (one ?? other);

const httpOptions = (
  { baseUrl, email, apiToken, concurrency, requestsPerSecond }: TrackerSettings,
  deps: TrackerDeps,
): HttpOptions => ({
  ...deps.http,
  baseUrl,
  authorize: () => ({
    authorization: `Basic ${Buffer.from(`${email}:${apiToken.reveal()}`).toString('base64')}`,
  }),
  concurrency,
  ...(requestsPerSecond > 0 && {
    rate: { default: { perSecond: requestsPerSecond, burst: Math.max(1, Math.ceil(requestsPerSecond)) } },
  }),
});

/** What the search understands. What only one stream needs and fails here is a problem, and fails there again. */
const preflight = async (
  account: Account,
  tracker: Tracker,
  learn: (signal: AbortSignal) => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<Preflight> => {
  const problems: TidemarkError[] = [];
  const dialect = [account.known ? `account: ${account.name}` : 'account: the server does not say'];
  try {
    const found = await tracker.search.dialect(signal);
    const fields = await learn(signal);
    dialect.push(
      ...found.words,
      `fields: ${fields.includes('*all') ? 'all (the server has no complete list of them)' : fields.length}`,
    );
  } catch (cause) {
    if (!(cause instanceof TidemarkError) || endsAll(cause)) throw cause;
    problems.push(cause);
    dialect.push('search: not to be had');
  }
  return { clock: account.clock, account: account.name, dialect, problems };
};

const endsAll = (error: TidemarkError): boolean =>
  error instanceof AuthFailed ||
  error instanceof Misconfigured ||
  error instanceof Unreachable ||
  error instanceof Interrupted;

/** Fields by id, as the transform of the fields reads them; a record that it rejects is rejected by the fields stream, with its bytes. */
const factsOf = (records: readonly Json[]): ReadonlyMap<string, FieldFact> => {
  const facts = new Map<string, FieldFact>();
  for (const record of records) {
    const fact = factOf(record);
    if (fact !== undefined) facts.set(fact[0], fact[1]);
  }
  return facts;
};

const factOf = (record: Json): readonly [string, FieldFact] | undefined => {
  try {
    const { id, name, custom, schema_type, items_type, schema_custom } = field(record, {}).row;
    const fact = {
      name: String(name),
      custom: custom === true,
      schemaType: textOrNull(schema_type),
      itemsType: textOrNull(items_type),
      schemaCustom: textOrNull(schema_custom),
    };
    return [String(id), fact];
  } catch (cause) {
    if (cause instanceof BadData) return undefined;
    throw cause;
  }
};

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const detailWalksOf = (issueId: string): DetailWalks => ({
  changelog: tails.changelog(issueId),
  comments: tails.comments(issueId),
  worklogs: tails.worklogs(issueId),
});
