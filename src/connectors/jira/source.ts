/** The issue tracker, opened: its client, what is known of its fields and search, and its streams. */

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
import { issueFields, knowFields } from './fields.ts';
import { filterOf } from './jql.ts';
import { detailWalks } from './lists.ts';
import { openSearch } from './search.ts';
import { boardSprints, boards, sprintIssues, sprints } from './streams/agile.ts';
import { issues } from './streams/issues.ts';
import { groupMembers, groups, users } from './streams/people.ts';
import { projects } from './streams/projects.ts';
import type { Tracker } from './streams/stream.ts';
import { fields, issueTypes, priorities, statuses } from './streams/vocabulary.ts';
import { field } from './transform/entities.ts';
import { catalogueOf, customIn, edition, type FieldFact, issuesReadBy } from './transform/field-catalogue.ts';
import { issueMapper } from './transform/issue.ts';

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
  /** Receives what was found out that a person should know. */
  readonly observe?: Observe;
  /** Further settings of the HTTP client: version, deadlines, retries, its own events. */
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'authorize'>>;
}

const name = 'tracker';

/**
 * Sends no request yet. What the server understands is found out once and kept as long as the source is open: open one for each run. Throws
 * `Misconfigured` for a base URL or a TRACKER_JQL that cannot be used.
 */
export const openTracker = (settings: TrackerSettings, deps: TrackerDeps = {}): Source => {
  const filter = filterOf(settings.jql);
  const note = (message: string) => deps.observe?.({ type: 'note', pipeline: name, level: 'warn', message });
  const http = trackerHttp(createHttp(httpOptions(settings, deps)), note);
  const account = once((signal) => askAccount(http, signal));
  let mapIssue: Flow['via'] | undefined;
  const learn = async (signal: AbortSignal) => {
    const known = knowledgeOf(await knowFields(http, (await account(signal)).known, signal));
    mapIssue = issueMapper(known.catalogue, detailWalks);
    return known;
  };
  let site = once(learn);
  const confirmed = once(learn);
  const search = openSearch({
    http,
    scope: { start: settings.start, filter },
    account,
    changes: settings.changes,
    note,
    fields: async (signal) => (await site(signal)).asked,
  });
  const tracker: Tracker = {
    http,
    search,
    mapping: async (signal, doubtful = false) => {
      // Fields that were known before are missing: one confirming request, whose answer counts from then on.
      if (doubtful) site = confirmed;
      return (await site(signal)).mapping;
    },
    mapIssue: (record, slice) => {
      if (mapIssue === undefined)
        throw new Error('the fields of the tracker are not known yet: preflight comes first');
      return mapIssue(record, slice);
    },
    groups: settings.groups,
  };
  return {
    name,
    kind: 'tracker',
    baseUrl: settings.baseUrl,
    http,
    flows: flowsOf(tracker),
    preflight: async (signal) => {
      const found = await account(signal);
      // The fields may come while the search is asked. If they fail, they are asked for again below.
      site(signal).catch(() => undefined);
      return preflight(found, tracker, async () => (await site(signal)).asked, signal);
    },
    close: () => http.close(),
  };
};

/** All streams, in the order in which they are read. Sprints come after issues, which name those that no board lists. */
const flowsOf = (tracker: Tracker): readonly Flow[] => [
  fields(tracker),
  projects(tracker),
  statuses(),
  issueTypes(),
  priorities(),
  users(tracker),
  groups(tracker),
  groupMembers(),
  boards(tracker),
  issues(tracker),
  sprints(),
  boardSprints(),
  sprintIssues(),
];

/** What the site's fields mean, and which of them to ask for. Of fields that may not be all, it still says what those mean. */
const knowledgeOf = ({
  records,
  complete,
}: {
  readonly records: readonly Json[];
  readonly complete: boolean;
}) => {
  const facts = new Map(records.flatMap((record) => factOf(record)));
  const catalogue = catalogueOf(facts);
  const mapping = {
    edition,
    words: issuesReadBy(catalogue),
    whole: complete,
    // Of lists that may leave some out all fields are asked for.
    ...(complete && { fields: customIn(catalogue) }),
  };
  return { catalogue, asked: issueFields(facts, complete), mapping };
};

/** A field by its id; none for a record that is no field: the fields stream rejects that, with its bytes. */
const factOf = (record: Json): readonly (readonly [string, FieldFact])[] => {
  try {
    const { id, name, custom, schema_type, items_type, schema_custom } = field(record, {}).row;
    const fact = {
      name: String(name),
      custom: custom === true,
      schemaType: textOrNull(schema_type),
      itemsType: textOrNull(items_type),
      schemaCustom: textOrNull(schema_custom),
    };
    return [[String(id), fact]];
  } catch (cause) {
    if (cause instanceof BadData) return [];
    throw cause;
  }
};

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

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

/** Finds out what the search understands. What only one stream needs and fails here is a problem, and fails there again. */
const preflight = async (
  account: Account,
  { search }: Tracker,
  askedFields: () => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<Preflight> => {
  const problems: TidemarkError[] = [];
  const dialect = [account.known ? `account: ${account.name}` : 'account: the server does not say'];
  try {
    const { words } = await search.dialect(signal);
    const asked = await askedFields();
    const all = asked.includes('*all');
    dialect.push(...words, `fields: ${all ? 'all (the server has no complete list of them)' : asked.length}`);
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
