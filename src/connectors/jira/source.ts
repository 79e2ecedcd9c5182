/** The issue tracker, opened: its client, what is known of its fields and its search, and its streams. */

import { AuthFailed, Interrupted, Misconfigured, TidemarkError, Unreachable } from '../../core/errors.ts';
import { leftOutOf } from '../../core/exclude.ts';
import { memoizeAsync } from '../../core/memoize-async.ts';
import type { Http, Stream, Transform } from '../../core/stream.ts';
import type { Auth } from '../../http/auth.ts';
import { createHttp } from '../../http/client.ts';
import { closedEndpoints } from '../../http/closed-endpoints.ts';
import { handingOn } from '../../http/hand-on.ts';
import type { HttpOptions } from '../../http/http-options.ts';
import type { Opened } from '../connector.ts';
import { askAccount, trackerHttp } from './account.ts';
import { advice } from './advice.ts';
import { histories, worklogLists } from './bulk-lists.ts';
import type { TrackerConfig } from './config.ts';
import { findServer, speaking } from './dialects/find.ts';
import { type KnownFields, knowFields } from './fields.ts';
import { finderOf } from './finder.ts';
import { filterOf, withoutProjects } from './jql.ts';
import { detailWalks } from './lists.ts';
import { openSearch, type Search } from './search.ts';
import * as agile from './streams/agile.ts';
import * as platform from './streams/platform.ts';
import type { Tracker } from './streams/stream.ts';
import type { OwnFields } from './transform/field-catalogue.ts';
import { issueMapper } from './transform/issue.ts';

/** What opening a tracker takes. */
export interface TrackerSettings
  extends Pick<TrackerConfig, 'baseUrl' | 'start' | 'changes' | 'groups'>,
    OwnFields {
  readonly jql?: string | undefined;
  readonly auth: Auth;
  /** Of it only projects (`projects:WEB`): boards and groups are the engine's owners. */
  readonly exclude?: readonly string[];
  /** When the token ends, as its owner wrote it down. */
  readonly apiTokenExpires?: Date | undefined;
  /** True where the token is one that the server lists for its owner. */
  readonly isPersonal?: boolean;
}

export interface TrackerDeps {
  /** Receives what was found out that a person should know. */
  readonly note?: (message: string) => void;
  /** Further settings of the HTTP client: requests at once and a second, version, deadlines, retries, its own events. */
  readonly http?: Partial<Omit<HttpOptions, 'baseUrl' | 'auth'>>;
}

/**
 * Sends no request yet. What the server understands is found out once and kept as long as the source is open:
 * open one for each run. Throws `Misconfigured` for a base URL or a TRACKER_JQL that cannot be used.
 */
export const openTracker = (settings: TrackerSettings, deps: TrackerDeps = {}): Opened => {
  const leftOut = leftOutOf(settings.exclude, 'projects');
  const filter = withoutProjects(filterOf(settings.jql), leftOut);
  const { note = () => undefined } = deps;
  const { baseUrl, auth } = settings;
  const plain = createHttp({ ...deps.http, baseUrl, auth, advice });
  const checked = trackerHttp(plain);
  const server = memoizeAsync((signal) => findServer(checked, plain, signal));
  const account = async (signal: AbortSignal) =>
    askAccount((await server(signal)).dialect.adapt(checked), signal);
  const over = (base: Http): Http => closedEndpoints(speaking(base, server), account);
  const http = over(checked);
  const { first, second } = handingOn(checked);
  const handing = { first: over(first), second: over(second) };
  let mapIssue: Transform = () => {
    throw new Error('the fields of the tracker are not known yet: preflight comes first');
  };
  const bulk = { changelog: histories, worklogs: worklogLists(http) };
  const learn = async (signal: AbortSignal) => {
    const { dialect, account } = await server(signal);
    const found = await knowFields(handing.first, account.isVendor, settings, signal);
    const mapped = issueMapper(found.catalogue, detailWalks, bulk);
    mapIssue = (record, slice) => mapped(dialect.issue(record), slice);
    return found;
  };
  let knowledge = memoizeAsync(learn);
  const confirmed = memoizeAsync(learn);
  const asked = async (signal: AbortSignal) => (await knowledge(signal)).asked;
  const scope = { start: settings.start, filter };
  const search = openSearch({ http, scope, server, changes: settings.changes, note, fields: asked });
  const tracker: Tracker = {
    http,
    handing,
    search,
    mapping: async (signal, doubtful = false) => {
      // Fields that were known before are missing: one confirming request, whose answer counts from then on.
      if (doubtful) knowledge = confirmed;
      return (await knowledge(signal)).mapping;
    },
    mapIssue: (record, slice) => mapIssue(record, slice),
    groups: settings.groups,
    ownFields: settings,
    leftOut,
  };
  return {
    baseUrl,
    http,
    streams: streamsOf(tracker),
    finder: finderOf(http, search),
    check: async (signal) => {
      const { dialect, account } = await server(signal);
      // The fields may come while the search is asked. If they fail, they are asked for again below.
      knowledge(signal).catch(() => undefined);
      const listed = settings.isPersonal ? await dialect.tokenEnds?.(http, signal) : undefined;
      const tokenEnds = settings.apiTokenExpires ?? listed;
      const { words, problems } = await understood(search, knowledge, signal);
      const { clock, name = 'the server does not say' } = account;
      const about = [`server: ${dialect.title}`, `account: ${name}`, ...words];
      return { clock, account: account.name, dialect: about, problems, tokenEnds };
    },
  };
};

/**
 * All streams, in the order in which they are read. Sprints come after issues, which name those that no board
 * lists.
 */
const streamsOf = (tracker: Tracker): readonly Stream[] => [
  platform.fields(tracker),
  platform.projects(tracker),
  platform.statuses,
  platform.issueTypes,
  platform.priorities(tracker),
  platform.users(tracker),
  platform.groups(tracker),
  platform.groupMembers,
  agile.boards(tracker),
  platform.issues(tracker),
  agile.sprints(tracker),
  agile.boardSprints(tracker),
  agile.sprintIssues(tracker),
];

/**
 * Errors that end a run; any other is a problem of the search only, whose streams then fail by themselves.
 */
const endsAll = [AuthFailed, Misconfigured, Unreachable, Interrupted];

/** Finds out what the search and the fields of the server are, in words. */
const understood = async (
  search: Search,
  known: (signal: AbortSignal) => Promise<KnownFields>,
  signal: AbortSignal,
): Promise<{ words: readonly string[]; problems: readonly TidemarkError[] }> => {
  try {
    const { summary } = await search.facts(signal);
    const { asked, found, problems } = await known(signal);
    const all = 'all (the server has no complete list of them)';
    const count = asked.includes('*all') ? all : asked.length;
    return { words: [...summary, `fields: ${count}`, ...found], problems };
  } catch (cause) {
    if (!(cause instanceof TidemarkError) || endsAll.some((kind) => cause instanceof kind)) throw cause;
    return { words: ['search: not available'], problems: [cause] };
  }
};
