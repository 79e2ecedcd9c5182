/** The tracker's stages: what is run, and what must hold of its warehouse. */

import type { Oracle } from '../../simulators/jira/oracle.ts';
import { startTracker, type TrackerOptions, type TrackerSimulator } from '../../simulators/jira/server.ts';
import type { Ask } from '../../src/runs/ask.ts';
import { differences, type Sides } from '../support/oracle.ts';
import { emptyDatabase, type TestDatabase, testDatabase } from '../support/postgres.ts';
import { environment } from '../support/tidemark.ts';
import { claimed, closedBooks, countsHold, isThere, movedTo, type Rows } from './books.ts';
import { copiesOf, ran, type Stage } from './stage.ts';

/** Everything is in it and nothing twice: boards with and without sprints, comments, worklogs, links, labels, history. */
const smallest = {
  seed: 5,
  issues: 40,
  projects: 2,
  users: 6,
  years: 0.1,
  now: new Date('2026-03-10T09:00:00Z'),
} as const satisfies TrackerOptions;

/** The command that is killed, and what happened before. */
interface Plot {
  readonly does?: Ask['does'];
  readonly base?: () => Promise<TestDatabase>;
  /** What happens at the tracker before anything is run. */
  readonly before?: (tracker: TrackerSimulator) => void;
  /** Commands that run to their end first, and what happens between them. */
  readonly earlier?: (run: (does: Ask['does']) => Promise<void>, tracker: TrackerSimulator) => Promise<void>;
  /** What happens at the tracker then. */
  readonly meanwhile?: (tracker: TrackerSimulator) => void;
}

const stage =
  (plot: Plot) =>
  (options: TrackerOptions): Promise<Stage> =>
    staged({ ...smallest, ...options }, plot);

/** The first sync into a warehouse whose schema is there. */
export const firstSync = stage({});

/** The first sync into a database that has nothing, not even a schema. */
export const firstCommand = stage({ base: emptyDatabase });

/** A sync after changes of every kind but deletion. */
export const laterSync = stage({ earlier: (run) => run('sync'), meanwhile: changeMuch });

/** The same changes found by reading everything again. */
export const fullSync = stage({ does: 'full', earlier: (run) => run('sync'), meanwhile: changeMuch });

/** A reconciliation after deletions. */
export const deletions = stage({
  does: 'reconcile',
  earlier: (run) => run('sync'),
  meanwhile: ({ state }) => {
    for (const id of idsOf(state).slice(3, 7)) state.delete(id);
  },
});

/** A reconciliation after issues came into sight that the account could not see at the first sync, and others that were taken for deleted. */
export const sightings = stage({
  does: 'reconcile',
  before: ({ state }) => {
    for (const id of idsOf(state).slice(3, 9)) state.delete(id);
  },
  earlier: async (run, { state }) => {
    await run('sync');
    for (const id of idsOf(state).slice(10, 12)) state.delete(id);
    await run('reconcile');
  },
  meanwhile: ({ state, clock }) => {
    for (let place = 0; place < state.store.size; place += 1) {
      const { id } = state.store.at(place);
      if (state.store.isLive(place)) continue;
      state.restore(id);
      state.update(id, { summary: 'Changed unseen' });
    }
    clock.advance(3 * 86_400_000);
  },
});

/** Every stage by its name. */
export const stages = {
  'the first sync': firstSync,
  'a sync that finds changes': laterSync,
  'a reconciliation that finds deletions': deletions,
  'a reconciliation that finds what came into sight': sightings,
  'a full sync': fullSync,
  'a first command, with its migrations': firstCommand,
} as const;

/** What the warehouse is compared with. */
interface Expected {
  readonly isReconcile: boolean;
  /** What it equals at first; undefined: it is empty. */
  readonly old: Oracle | undefined;
  /** What it shall equal in the end. */
  readonly truth: Oracle;
  /** The tracker's clock during the command: what watermarks become. */
  readonly clock: Date;
}

async function staged(options: TrackerOptions, plot: Plot): Promise<Stage> {
  const { does = 'sync', base: open = testDatabase, before, earlier, meanwhile } = plot;
  const tracker = await startTracker(options);
  before?.(tracker);
  const around = (databaseUrl: string): NodeJS.ProcessEnv => environment(tracker, databaseUrl);
  const base = await open();
  let old: Oracle | undefined;
  if (earlier !== undefined) {
    await earlier((does) => ran({ pipeline: 'tracker', does }, around(base.url)), tracker);
    old = tracker.oracle();
    tracker.clock.advance(3_600_000);
    meanwhile?.(tracker);
    tracker.clock.advance(60_000);
  }
  const isReconcile = does === 'reconcile';
  const expected: Expected = { isReconcile, old, truth: tracker.oracle(), clock: tracker.clock.now() };
  return {
    command: { pipeline: 'tracker', does },
    environment: around,
    ...(await copiesOf(base)),
    atOnce: (rows) => atOnce(expected, rows),
    inTheEnd: (rows, kills) => inTheEnd(expected, rows, kills),
    async close() {
      await tracker.close();
      await base.drop();
    },
  };
}

const sides = (truth: Oracle, rows: Rows): Sides => ({ tracker: { oracle: () => truth }, rows });
const ofIssues =
  /^(issues|issue_(labels|components|versions|links|sprints|changelog|keys)|comments|worklogs) /;

/** Guarantees G1, G2 and G13 at any instant: whole issues only, no checkpoint ahead of its data, counts as the rows are. */
async function atOnce(expected: Expected, rows: Rows): Promise<readonly string[]> {
  if (!(await isThere(rows, 'tracker.issue_keys'))) return [];
  return [
    ...(await wholeIssues(expected, rows)),
    ...(await checkpointsHold(expected, rows)),
    ...(await countsHold(rows)),
  ];
}

/** Every issue is there as it was or as it is, with all that hangs on it; never half of it. */
async function wholeIssues({ old, truth }: Expected, rows: Rows): Promise<readonly string[]> {
  const all = await rows<{ id: string; at: Date; dead: boolean }>(
    'select id::text, updated_at as at, _deleted_at is not null as dead from tracker.issues',
  );
  const stored = new Map(all.filter((row) => !row.dead).map((row) => [row.id, row.at.getTime()]));
  const lines: string[] = [];
  const found = new Set<string>();
  for (const state of old === undefined ? [truth] : [old, truth]) {
    const others: string[] = [];
    for (const issue of state.issues.values())
      if (stored.get(issue.id) === issue.updated) found.add(issue.id);
      else others.push(issue.id);
    // What this truth does not have yet must not count as foreign: it is compared with the other one.
    for (const id of stored.keys()) if (!state.issues.has(id)) others.push(id);
    const lacks = await differences(sides(withGhosts(state, others), rows), {
      except: others,
      deletedMayLive: true,
    });
    lines.push(...lacks.filter((line) => ofIssues.test(line)));
  }
  for (const { id, dead } of all)
    if (dead && [old, truth].every((state) => state?.issues.get(id)?.deleted !== true))
      lines.push(`issue ${id} is not dead`);
  for (const id of stored.keys())
    if (!found.has(id)) lines.push(`issue ${id} is neither as it was nor as it is`);
  return lines;
}

/** The truth with stand-ins for issues that it does not know, so that they can be left out of a comparison. */
function withGhosts(truth: Oracle, ids: readonly string[]): Oracle {
  const [some] = truth.issues.values();
  if (some === undefined) return truth;
  const unknown = ids.filter((id) => !truth.issues.has(id));
  return {
    ...truth,
    issues: new Map([...truth.issues, ...unknown.map((id) => [id, { ...some, id }] as const)]),
  };
}

/** What a checkpoint of this run claims is in the warehouse. */
async function checkpointsHold({ truth, clock }: Expected, rows: Rows): Promise<readonly string[]> {
  const streams = await claimed(rows, clock);
  if (streams.size === 0) return [];
  const lines = await differences(sides(truth, rows), { deletedMayLive: true });
  return lines
    .filter((line) => streams.has(ofIssues.test(line) ? 'issues' : (line.split(' ')[0] ?? '')))
    .map((line) => `the checkpoint is ahead: ${line}`);
}

/** After a run that came to its end: the warehouse equals the source, and the books are closed. */
async function inTheEnd(
  { isReconcile, truth, clock }: Expected,
  rows: Rows,
  kills: number,
): Promise<readonly string[]> {
  const lines = await differences(sides(truth, rows), { deletedMayLive: !isReconcile });
  return [
    ...(await closedBooks(rows, kills)),
    ...(isReconcile ? [] : await movedTo(rows, clock)),
    // Which issues a sprint has is the next sync's business.
    ...lines.filter((line) => !(isReconcile && line.startsWith('sprint_issues '))),
  ];
}

const idsOf = (state: TrackerSimulator['state']): readonly string[] =>
  Array.from({ length: state.store.size }, (_, place) => state.store.at(place).id).filter((id) =>
    state.store.isLive(state.position(id)),
  );

/** Changes of every kind that bump `updated`, to a third of the issues. */
function changeMuch({ state, clock }: TrackerSimulator): void {
  const [a = '', b = '', c = '', d = '', e = '', f = '', ...rest] = idsOf(state);
  const keys = [...state.projects.values()].map((project) => project.key);
  const [sprint] = state.sprints.keys();
  state.update(a, { summary: 'Changed', statusId: '10004', resolutionId: '10300' });
  clock.advance(1_000);
  state.move(b, keys.find((key) => !state.keyOf(b).startsWith(`${key}-`)) ?? '');
  state.addLabel(c, 'new-label');
  state.addComment(c, 'A new comment');
  state.addWorklog(d, 1_800);
  state.link(d, e);
  if (sprint !== undefined) state.moveToSprint(f, sprint);
  for (const id of rest.slice(0, 6)) state.touch(id);
  clock.advance(1_000);
  for (const key of keys) state.create(key, { summary: `Born in ${key}`, labels: ['x', 'y'] });
  state.addUser({ displayName: 'Late Comer' });
  const [board] = [...state.boards.values()].filter((one) => one.type === 'scrum');
  if (board !== undefined) state.addSprint(board.id);
}
