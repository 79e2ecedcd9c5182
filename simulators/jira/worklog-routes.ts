import type { Answer, Call, Route } from '../shared/http.ts';
import { idOf } from './issues.ts';
import { type Issue, isShown, type Worklog } from './model.ts';
import { bodyOf } from './search-routes.ts';
import type { Site } from './site.ts';

/** Worklogs a page of the feeds, and ids a request of the list. */
const most = 1000;

/** The feeds do not show what happened in the minute before the request. */
const lagMs = 60_000;

interface Shown {
  readonly issue: Issue;
  readonly worklog: Worklog;
}

/** The worklogs that the account may see; collected again once anything has changed. */
const shownAt = ({ state, seen }: Site): (() => readonly Shown[]) => {
  let shown: readonly Shown[] = [];
  let changes: number | undefined;
  return () => {
    if (changes === state.changes) return shown;
    changes = state.changes;
    const issues = [...Array(state.store.size).keys()].flatMap((at) => seen(idOf(at)) ?? []);
    shown = issues.flatMap((issue) => issue.worklogs.filter(isShown).map((worklog) => ({ issue, worklog })));
    return shown;
  };
};

interface Happened {
  readonly id: string;
  readonly at: number;
}

/** A page of a feed, oldest first (the vendor's OpenAPI, `ChangedWorklogs`). Its examples name a next page on the last one, too. */
const feed = (site: Site, call: Call, all: readonly Happened[]): Answer => {
  const { base, clock, dialect } = site;
  const since = Number(call.query.get('since') ?? 0);
  if (!Number.isInteger(since)) throw dialect.problem(400, 'Bad Request', "Failed to convert 'since'");
  const until = clock.now().getTime() - lagMs;
  const due = all
    .filter(({ at }) => at > since && at <= until)
    .sort((a, b) => a.at - b.at || Number(a.id) - Number(b.id));
  const size = Math.min(most, call.cap ?? most);
  // The next page begins after the last instant of this one: all of one instant are on one page.
  const last = due[size - 1];
  const shown = last === undefined ? due : due.filter(({ at }) => at <= last.at);
  const end = shown.at(-1)?.at ?? since;
  const at = (from: number): string => `${base}${call.path}?since=${from}`;
  return dialect.json({
    values: shown.map(({ id, at }) => ({ worklogId: Number(id), updatedTime: at, properties: [] })),
    since,
    until: end,
    self: at(since),
    nextPage: at(end),
    lastPage: shown.length === due.length,
  });
};

/** Worklogs by their ids, whichever issues they belong to. */
const list = (site: Site, call: Call, all: readonly Shown[]): Answer => {
  const { dialect, writer } = site;
  const { ids } = bodyOf(site, call);
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > most || !ids.every(Number.isInteger))
    throw dialect.refused(400, 'The request contains more than 1000 worklog IDs or is empty.');
  const wanted = new Set(ids.map(String));
  const found = all.filter(({ worklog }) => wanted.has(worklog.id));
  return dialect.json(
    found
      .flatMap(({ issue, worklog }) => writer.worklogs({ ...issue, worklogs: [worklog] }))
      .map((one): unknown => JSON.parse(one)),
  );
};

/** What the vendor has to follow the worklogs of all issues. */
export const worklogRoutes = (site: Site): readonly Route[] => {
  const shown = shownAt(site);
  const route = (
    method: Route['method'],
    path: string,
    handle: (call: Call, shown: readonly Shown[]) => Answer,
  ): Route => ({
    method,
    path: `/rest/api/3/worklog/${path}`,
    inContract: false,
    handle: (call) => handle(call, call.anonymous ? [] : shown()),
  });
  const changed = (all: readonly Shown[]): readonly Happened[] =>
    all.map(({ worklog: { id, updated } }) => ({ id, at: updated }));
  return [
    route('GET', 'updated', (call, all) => feed(site, call, changed(all))),
    route('GET', 'deleted', (call) => feed(site, call, call.anonymous ? [] : site.state.deletedWorklogs)),
    route('POST', 'list', (call, all) => list(site, call, all)),
  ];
};
