import { expect, test } from 'vitest';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import type { RunReport } from '../../src/core/run.ts';
import { sync as syncSource } from '../../src/engine/sync.ts';
import { fingerprint } from '../support/oracle.ts';
import { type Rig, readListsOfSprints, testRig } from '../support/rig.ts';

const day = 86_400_000;
const always = { times: Number.POSITIVE_INFINITY };
const boardSprints = '/rest/agile/1.0/board/{id}/sprint';
const sprintIssues = '/rest/agile/1.0/sprint/{id}/issue';
const succeeded = { status: 'succeeded' };
const unchanged = { status: 'succeeded', counts: { inserted: 0, updated: 0 } };

/** The streams that sprints depend on. */
const agile = { streams: ['boards', 'sprints', 'board_sprints', 'sprint_issues', 'issues'] };

let rig: Rig;
const sync = () => rig.sync(agile);
/** A site with a sprint that has issues and is shown by one board, the one that it was created on. */
const open = async (dialect: 'contract' | 'vendor' = 'vendor') => {
  rig = await testRig({ dialect, issues: 50, years: 0.1 });
  readListsOfSprints(rig);
  const { boards, boardSprints: shown, sprintIssues: members, sprints } = rig.tracker.oracle();
  const found = sprints.find(
    ({ id, goal }) =>
      goal !== '' &&
      shown.filter(({ sprintId }) => sprintId === id).length === 1 &&
      members.filter(({ sprintId }) => sprintId === id).length > 1,
  );
  if (found === undefined) throw new Error('the seed has no such sprint');
  expect(boards.length).toBeGreaterThan(1);
  return found;
};

const rowsOf = (id: number) =>
  rig.rows(
    'select id::int, name, state, board_id::int, goal, _deleted_at from tracker.sprints where id = $1',
    [id],
  );
const membersOf = async (id: number): Promise<readonly string[]> => {
  const query =
    'select issue_id::text as id from tracker.issue_sprints where sprint_id = $1 order by issue_id';
  return (await rig.rows<{ id: string }>(query, [id])).map((row) => row.id);
};
const trueMembersOf = (id: number): readonly string[] =>
  rig.tracker
    .oracle()
    .sprintIssues.flatMap((one) => (one.sprintId === id ? [one.issueId] : []))
    .sort((a, b) => Number(a) - Number(b));
const streamOf = ({ streams }: RunReport, name: string) => streams.find(({ stream }) => stream === name);
const listOf = (board: number | undefined) => ({
  ...always,
  match: ({ path }: { readonly path: string }) => path.endsWith(`/board/${board}/sprint`),
});

/** Changes a sprint, and an issue of it, a day later. */
const changeByIssue = (id: number, change: { name: string; state?: 'closed' }, issue?: string): void => {
  const { state, clock } = rig.tracker;
  clock.advance(3 * day);
  state.updateSprint(id, change);
  state.touch(issue ?? trueMembersOf(id)[0] ?? '');
};
/** Its board shows the sprint under a new name, which the next sync reads. */
const listedByBoard = async (id: number, show: () => void): Promise<void> => {
  show();
  rig.tracker.state.updateSprint(id, { name: 'Listed by a board' });
  rig.tracker.clock.advance(day);
  expect(await sync()).toMatchObject(succeeded);
  expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board' }]);
};

/** Hides the board of a sprint; the first sync makes the sprint from its issues, the second writes nothing. */
const madeFromIssues = async (dialect: 'contract' | 'vendor') => {
  const sprint = await open(dialect);
  const { id, name, state, boardId, goal } = sprint;
  rig.tracker.state.hideBoard(boardId);
  const report = await sync();
  expect(report).toMatchObject(succeeded);
  expect(await rig.rows('select 1 from tracker.boards where id = $1', [boardId])).toEqual([]);
  expect(await rowsOf(id)).toEqual([{ id, name, state, board_id: boardId, goal, _deleted_at: null }]);
  expect(await membersOf(id)).toEqual(trueMembersOf(id));
  const shown = 'select sprint_name as name from bi.sprints where sprint_id = $1';
  expect(await rig.rows(shown, [String(id)])).toEqual([{ name }]);
  const all = await rig.rows('select from tracker.sprints');
  expect(streamOf(report, 'sprints'), 'sprints made from issues are counted').toMatchObject({
    counts: { inserted: all.length },
  });
  const before = await fingerprint(rig);
  expect(await sync()).toMatchObject(unchanged);
  expect(await fingerprint(rig)).toEqual(before);
  return sprint;
};

test('the sprints of a board are requested once a run', async () => {
  const { boardId } = await open();
  expect(await sync()).toMatchObject(succeeded);
  const { match } = listOf(boardId);
  const pages = rig.tracker.log.filter(match).map(({ query }) => JSON.stringify(query));
  expect(pages.length).toBeGreaterThan(0);
  expect(pages).toHaveLength(new Set(pages).size);
  const shown = rig.tracker.oracle().boardSprints.filter((one) => one.boardId === boardId);
  const stored = await rig.rows('select from tracker.board_sprints where board_id = $1', [boardId]);
  expect(stored).toHaveLength(shown.length);
});

test('a sprint that no board lists is what the last issue read says, until a board lists it', async () => {
  const { id, name, boardId, goal } = await madeFromIssues('vendor');
  const [one = '', two = ''] = trueMembersOf(id);
  const other = [...rig.tracker.oracle().issues.keys()].find((issue) => !trueMembersOf(id).includes(issue));
  // The newest change is always read. Another issue takes that place before the first name comes back.
  for (const [named, issue] of [
    ['Renamed for a while', two],
    ['Renamed for a while', other],
    [name, one],
  ] as const) {
    changeByIssue(id, { name: named }, issue);
    expect(await sync()).toMatchObject(succeeded);
    expect(await rowsOf(id)).toMatchObject([{ name: named }]);
  }
  await listedByBoard(id, () => rig.tracker.state.showBoard(boardId));
  expect(await sync()).toMatchObject(unchanged);
  await rig.reconcile(agile);
  expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board', goal, _deleted_at: null }]);
});

test('a sprint that no board lists is not made from deleted issues', async () => {
  const { id } = await madeFromIssues('contract');
  for (const issue of trueMembersOf(id)) rig.tracker.state.delete(issue);
  rig.tracker.clock.advance(60_000);
  await rig.reconcile(agile);
  await rig.rows('delete from tracker.sprints where id = $1', [id]);
  expect(await sync()).toMatchObject(succeeded);
  expect(await rowsOf(id)).toEqual([]);
});

test('sprints are made from issues while the list of their board is closed, and stay while it is missing', async () => {
  const { id, name, boardId } = await open();
  const { state, clock, script } = rig.tracker;
  const shut = script.at(listOf(boardId), status(403));
  expect(streamOf(await sync(), 'sprints')).toMatchObject({ status: 'forbidden' });
  expect(shut.fired).toBeGreaterThan(0);
  expect(await rowsOf(id)).toMatchObject([{ name }]);
  expect(await membersOf(id)).toEqual(trueMembersOf(id));
  shut.cancel();
  clock.advance(3 * day);
  state.updateSprint(id, { name: 'Ended by its board', state: 'closed' });
  await sync();
  script.at({ endpoint: boardSprints, ...always }, status(404));
  expect(streamOf(await sync(), 'sprints')).toMatchObject({ status: 'unavailable' });
  expect(await rowsOf(id)).toMatchObject([{ name: 'Ended by its board', state: 'closed' }]);
});

test('a board that is gone when an interrupted read resumes takes no sprint from the other boards', async () => {
  const { id, boardId } = await open();
  const { script, state } = rig.tracker;
  const other = rig.tracker.oracle().boards.find((one) => one.type === 'scrum' && one.id !== boardId);
  const sprints = { streams: ['sprints'] };
  await rig.sync({ streams: ['boards', 'issues'] });
  state.updateSprint(id, { name: 'Listed by a board' });
  const broken = script.at(listOf(other?.id), status(500));
  expect(await rig.sync(sprints)).toMatchObject({ status: 'partly_failed' });
  broken.cancel();
  script.at(listOf(other?.id), status(404));
  expect(streamOf(await rig.sync(sprints), 'sprints')).toMatchObject({ status: 'ok' });
  expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board' }]);
});

test('a sprint without originBoardId has the same board in every run, whichever board lists it last', async () => {
  await open();
  const without: Fault = {
    name: 'no originBoardId',
    answer: (answer) => ({
      ...answer,
      body: Buffer.from(answer.body.toString().replace(/,"originBoardId":\d+/g, '')),
    }),
  };
  rig.tracker.script.at({ endpoint: boardSprints, ...always }, without);
  const { sprints, boardSprints: shown, sprintIssues: members } = rig.tracker.oracle();
  const boardsOf = (id: number) => shown.flatMap((one) => (one.sprintId === id ? [one.boardId] : []));
  expect(sprints.filter(({ id }) => boardsOf(id).length > 1).length).toBeGreaterThan(0);
  const truth = sprints
    .map(({ id, boardId }) => ({
      id,
      board: members.some(({ sprintId }) => sprintId === id) ? boardId : Math.min(...boardsOf(id)),
    }))
    .toSorted((a, b) => a.id - b.id);
  for (const expected of [succeeded, unchanged]) {
    expect(await sync()).toMatchObject(expected);
    const stored = 'select id::int, board_id::int as board from tracker.sprints order by id';
    expect(await rig.rows(stored)).toEqual(truth);
  }
});

test.each([
  ['gone', false],
  ['a kanban board', true],
])(
  'a sprint whose board is %s stays as it was, then follows its issues, until a board lists it',
  async (_, isKanban) => {
    const { id, boardId } = await open();
    const { state, clock } = rig.tracker;
    const become = (type: 'kanban' | 'scrum') => {
      const board = state.boards.get(boardId);
      if (board !== undefined) state.boards.set(boardId, { ...board, type });
    };
    const shown = () =>
      rig.rows<{ board: number }>(
        'select board_id::int as board, sprint_id from tracker.board_sprints order by 1, 2',
      );
    await sync();
    clock.advance(3 * day);
    state.updateSprint(id, { name: 'Last of its board' });
    await sync();
    const before = await shown();
    const others = before.filter(({ board }) => board !== boardId);
    expect(others.length).toBeLessThan(before.length);
    clock.advance(day);
    if (isKanban) become('kanban');
    else {
      state.hideBoard(boardId);
      await rig.reconcile(agile);
    }
    const deleted = isKanban ? before.length - others.length : 0;
    expect(await sync()).toMatchObject({ ...succeeded, deleted });
    if (isKanban) expect(await shown()).toEqual(others);
    expect(await rowsOf(id)).toMatchObject([{ name: 'Last of its board' }]);
    changeByIssue(id, { name: 'Ended without a board', state: 'closed' });
    expect(await sync()).toMatchObject({ ...succeeded, deleted: 0 });
    expect(await rowsOf(id)).toMatchObject([{ name: 'Ended without a board', state: 'closed' }]);
    expect(await sync()).toMatchObject(unchanged);
    await listedByBoard(id, () => (isKanban ? become('scrum') : state.showBoard(boardId)));
    expect(await shown()).toEqual(before);
  },
);

test('a kanban board shows no sprints where no board lists any', async () => {
  rig = await testRig({ dialect: 'contract', bare: true, issues: 50, years: 0.1 });
  const { boards } = rig.tracker.state;
  const shown = () =>
    rig.rows<{ id: number }>('select board_id::int as id from tracker.board_sprints order by 1');
  await sync();
  const before = await shown();
  const board = boards.get(before[0]?.id ?? 0);
  if (board === undefined) throw new Error('no board has sprints');
  const others = before.filter(({ id }) => id !== board.id);
  boards.set(board.id, { ...board, type: 'kanban' });
  rig.tracker.clock.advance(day);
  expect(await sync()).toMatchObject({ ...succeeded, deleted: before.length - others.length });
  expect(await sync()).toMatchObject({ ...succeeded, deleted: 0, counts: { inserted: 0 } });
  expect(await shown()).toEqual(others);
  boards.set(board.id, board);
  expect(await sync()).toMatchObject(succeeded);
  expect(await shown()).toEqual(before);
});

test('a board that answers 400 twice has no sprints, until it lists them', async () => {
  const { boardId } = await open();
  const { script } = rig.tracker;
  const boards = () => rig.rows('select distinct board_id from tracker.board_sprints order by 1');
  const always400 = script.at(listOf(boardId), status(400));
  expect(await sync()).toMatchObject(succeeded);
  const without = await boards();
  expect(without).not.toContainEqual({ board_id: String(boardId) });
  always400.cancel();
  expect(await sync()).toMatchObject(succeeded);
  const all = await boards();
  expect(all).toHaveLength(without.length + 1);
  const once = script.at({ ...listOf(boardId), times: 1 }, status(400));
  expect(await sync()).toMatchObject(succeeded);
  expect([once.fired, await boards()]).toEqual([1, all]);
  script.at(listOf(boardId), status(400));
  expect(await sync()).toMatchObject(succeeded);
  expect(await boards()).toEqual(without);
});

test('a board that answers 400 after its first page showed sprints fails', async () => {
  rig = await testRig({ years: 3, issues: 60, dialect: 'vendor' });
  const match = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) =>
    path.endsWith('/sprint') && query.startAt !== undefined;
  const rule = rig.tracker.script.at({ match, times: 10 }, status(400));
  const reason = expect.stringMatching(/answered 400/);
  const report = await rig.sync({ streams: ['boards', 'board_sprints'] });
  expect(streamOf(report, 'board_sprints')).toMatchObject({ status: 'failed', reason });
  expect(rule.fired).toBe(1);
});

/** A board's list with some of its sprints. */
const showing = (isShown: (sprint: { readonly id: number }) => boolean): Fault => ({
  name: 'fewer sprints',
  answer: (answer) => {
    const body = JSON.parse(String(answer.body));
    const values = body.values.filter(isShown);
    const total = values.length;
    return { ...answer, body: Buffer.from(JSON.stringify({ ...body, total, isLast: true, values })) };
  },
});
const tombstones = () => rig.rows('select id::int from tracker.sprints where _deleted_at is not null');

test('sprints deleted at the source are deleted with what they held, and are back where a board shows them', async () => {
  const { id, boardId } = await open();
  const { state, clock, log } = rig.tracker;
  const planned = state.addSprint(boardId, { name: 'Planned' });
  for (const issue of trueMembersOf(id).slice(0, 2)) state.moveToSprint(issue, planned.id);
  await sync();
  const held = async () => [
    (await rig.rows('select 1 from tracker.sprint_issues where sprint_id = $1', [planned.id])).length,
    (await rig.rows('select 1 from bi.sprints where sprint_id = $1', [String(planned.id)])).length,
  ];
  expect(await held()).toEqual([2, 1]);
  clock.advance(day);
  state.deleteSprint(planned.id);
  const report = await sync();
  expect(report).toMatchObject(succeeded);
  expect(streamOf(report, 'sprint_issues')).toMatchObject({ deleted: 3 });
  expect(await rowsOf(planned.id)).toMatchObject([{ name: 'Planned', _deleted_at: expect.any(Date) }]);
  expect(await held()).toEqual([0, 0]);
  clock.advance(day);
  const from = log.length;
  expect(await sync()).toMatchObject({ ...succeeded, deleted: 0 });
  expect(log.slice(from).filter(({ path }) => /sprint\/\d+\/issue/.test(path))).not.toEqual([]);
  state.sprints.set(planned.id, { ...planned, name: 'Back' });
  clock.advance(day);
  await sync();
  expect(await rowsOf(planned.id)).toMatchObject([{ name: 'Back', _deleted_at: null }]);
});

test('sprints are not deleted for 404 alone, nor while an issue names them; where no board shows any, the run succeeds', async () => {
  const { id, boardId } = await open();
  const { script, clock } = rig.tracker;
  await sync();
  const hidden = script.at({ endpoint: sprintIssues, ...always }, status(404));
  for (const exclude of [[], ['board_sprints']]) {
    clock.advance(8 * day);
    const report = await rig.during((deps) => syncSource({ ...deps, exclude }, agile));
    // They were there before: a site without Jira Software has never shown any.
    const failed = { status: 'failed' };
    expect(streamOf(report, 'sprint_issues'), `excluded: ${exclude}`).toMatchObject(failed);
    expect(await tombstones()).toEqual([]);
  }
  hidden.cancel();
  const own = ({ path }: { readonly path: string }) => path.includes(`/sprint/${id}/`);
  const gone = script.at({ endpoint: sprintIssues, ...always, match: own }, status(404));
  const fewer = script.at(
    listOf(boardId),
    showing((sprint) => sprint.id !== id),
  );
  clock.advance(8 * day);
  await sync();
  expect(await rig.rows('select 1 from tracker.board_sprints where sprint_id = $1', [id])).toEqual([]);
  expect(await rowsOf(id)).toMatchObject([{ _deleted_at: null }]);
  for (const rule of [gone, fewer]) rule.cancel();
  script.at({ endpoint: sprintIssues, ...always }, status(404));
  script.at(
    { endpoint: boardSprints, ...always },
    showing(() => false),
  );
  for (let run = 0; run < 2; run += 1) {
    clock.advance(day);
    const report = await sync();
    expect(report.streams.filter((stream) => stream.status !== 'ok')).toEqual([]);
    expect(report).toMatchObject(succeeded);
  }
});
