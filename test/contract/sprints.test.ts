import { afterEach, describe, expect, test } from 'vitest';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import { sync } from '../../src/engine/sync.ts';
import { fingerprint } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

/** A site with a sprint that has issues and shows on the board it was made on alone. */
const open = async (dialect: 'contract' | 'vendor') => {
  rig = await openRig({ ...smallSite, dialect });
  const { boards, boardSprints, sprintIssues, sprints } = rig.tracker.oracle();
  const found = sprints.find(
    ({ id, goal }) =>
      goal !== '' &&
      boardSprints.filter((one) => one.sprintId === id).length === 1 &&
      sprintIssues.filter((one) => one.sprintId === id).length > 1,
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
const membersOf = async (id: number): Promise<readonly string[]> =>
  (
    await rig.rows<{ id: string }>(
      'select issue_id as id from tracker.issue_sprints where sprint_id = $1 order by 1',
      [id],
    )
  ).map((row) => row.id);
const trueMembersOf = (id: number): readonly string[] =>
  rig.tracker
    .oracle()
    .sprintIssues.flatMap((one) => (one.sprintId === id ? [one.issueId] : []))
    .sort((a, b) => Number(a) - Number(b));

describe.each(['vendor', 'contract'] as const)('a sprint that no board of a %s lists', (dialect) => {
  test('is the one that issues name, in tracker and in bi; which issues it has is theirs to tell', async () => {
    const { id, name, state, boardId, goal } = await open(dialect);
    rig.tracker.state.hideBoard(boardId);
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'succeeded' });
    expect(await rig.rows('select 1 from tracker.boards where id = $1', [boardId])).toEqual([]);
    expect(await rowsOf(id)).toEqual([{ id, name, state, board_id: boardId, goal, _deleted_at: null }]);
    expect(await membersOf(id)).toEqual(trueMembersOf(id));
    expect(
      await rig.rows('select sprint_name as name from bi.sprints where sprint_id = $1', [String(id)]),
    ).toEqual([{ name }]);
    // Each sprint that came to be here is counted, whoever told of it.
    const [{ n } = { n: 0 }] = await rig.rows<{ n: number }>(
      'select count(*)::int as n from tracker.sprints',
    );
    expect(report.streams.find(({ stream }) => stream === 'sprints')).toMatchObject({
      counts: { inserted: n },
    });
    const before = await fingerprint(rig);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 0, updated: 0 } });
    expect(await fingerprint(rig)).toEqual(before);
  });

  test('is as an issue told of it last, until a board lists it: from then on as the board does', async () => {
    const { id, boardId, goal } = await open(dialect);
    const { state, clock } = rig.tracker;
    state.hideBoard(boardId);
    await rig.sync();
    clock.advance(60_000);
    state.updateSprint(id, { name: 'Told by an issue', state: 'closed' });
    state.touch(trueMembersOf(id)[0] ?? '');
    await rig.sync();
    expect(await rowsOf(id)).toMatchObject([{ name: 'Told by an issue', state: 'closed' }]);
    state.showBoard(boardId);
    state.updateSprint(id, { name: 'Listed by a board' });
    clock.advance(60_000);
    for (let run = 0; run < 2; run += 1) {
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board', state: 'closed', goal }]);
    }
    await rig.reconcile();
    expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board', _deleted_at: null }]);
  });

  test('is as the issue that was read last tells, also where that one has told the same before', async () => {
    const { id, name, boardId } = await open(dialect);
    const { state, clock } = rig.tracker;
    const [first = '', second = ''] = trueMembersOf(id);
    const another =
      [...rig.tracker.oracle().issues.keys()].find((issue) => !trueMembersOf(id).includes(issue)) ?? '';
    state.hideBoard(boardId);
    await rig.sync();
    const night = async (called: string, changed: string): Promise<void> => {
      clock.advance(3 * 86_400_000);
      state.updateSprint(id, { name: called });
      state.touch(changed);
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    };
    await night('Renamed for a while', second);
    expect(await rowsOf(id)).toMatchObject([{ name: 'Renamed for a while' }]);
    // What changed last is always read again: something else does.
    await night('Renamed for a while', another);
    await night(name, first);
    expect(await rowsOf(id)).toMatchObject([{ name }]);
  });

  test('is there, too, where a board is seen and its sprints are closed to us', async () => {
    const { id, name, boardId } = await open(dialect);
    const shut = rig.tracker.script.at(
      {
        endpoint: '/rest/agile/1.0/board/{id}/sprint',
        times: Infinity,
        match: ({ path }) => path.endsWith(`/${boardId}/sprint`),
      },
      status(403),
    );
    const report = await rig.sync();
    expect(shut.fired).toBeGreaterThan(0);
    expect(report.streams.find(({ stream }) => stream === 'sprints')).toMatchObject({ status: 'forbidden' });
    expect(await rowsOf(id)).toMatchObject([{ name }]);
    expect(await membersOf(id)).toEqual(trueMembersOf(id));
  });
});

test('a sprint of which only deleted issues tell is not made of them', async () => {
  const { id, boardId } = await open('vendor');
  const { state, clock } = rig.tracker;
  state.hideBoard(boardId);
  await rig.sync();
  for (const issue of trueMembersOf(id)) state.delete(issue);
  clock.advance(60_000);
  await rig.reconcile();
  await rig.rows('delete from tracker.sprints where id = $1', [id]);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await rowsOf(id)).toEqual([]);
});

test('a board that went before an interrupted walk came to it does not stand for all: sprints stay as their boards list them', async () => {
  const { id, boardId } = await open('vendor');
  const { script, state } = rig.tracker;
  const other = rig.tracker.oracle().boards.find((one) => one.type === 'scrum' && one.id !== boardId);
  const list = {
    endpoint: '/rest/agile/1.0/board/{id}/sprint',
    times: Infinity,
    match: ({ path }: { readonly path: string }) => path.endsWith(`/${other?.id}/sprint`),
  };
  const sprints = { streams: ['sprints'] };
  await rig.sync({ streams: ['boards', 'issues'] });
  state.updateSprint(id, { name: 'Listed by a board' });
  const broken = script.at(list, status(500));
  expect(await rig.sync(sprints)).toMatchObject({ status: 'partly_failed' });
  expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board' }]);
  broken.cancel();
  script.at(list, status(404));
  const again = await rig.sync(sprints);
  expect(again.streams.find(({ stream }) => stream === 'sprints')).toMatchObject({ status: 'ok' });
  expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board' }]);
});

test('a sprint that is listed without the board it was created on has one, and the same each night, whichever board lists it last', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  rig.tracker.script.at(
    { endpoint: '/rest/agile/1.0/board/{id}/sprint', times: Infinity },
    {
      name: 'no originBoardId',
      answer: (answer) => ({
        ...answer,
        body: Buffer.from(answer.body.toString().replace(/,"originBoardId":\d+/g, '')),
      }),
    },
  );
  const { sprints, boardSprints, sprintIssues } = rig.tracker.oracle();
  const shared = ({ id }: { readonly id: number }) =>
    boardSprints.filter((one) => one.sprintId === id).length > 1;
  expect(sprints.filter(shared).length).toBeGreaterThan(0);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const boards = () =>
    rig.rows<{ id: number; board: number }>('select id::int, board_id::int as board from tracker.sprints');
  const first = new Map((await boards()).map(({ id, board }) => [id, board]));
  for (const { id, boardId } of sprints) {
    const named = sprintIssues.some((one) => one.sprintId === id);
    const showing = boardSprints.flatMap((one) => (one.sprintId === id ? [one.boardId] : []));
    expect(first.get(id)).toBe(named ? boardId : Math.min(...showing));
  }
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 0, updated: 0 } });
  expect(new Map((await boards()).map(({ id, board }) => [id, board]))).toEqual(first);
});

describe('a sprint whose board is gone', () => {
  const day = 86_400_000;

  test('is as its issues tell from then on, until a board lists it again', async () => {
    const { id, boardId } = await open('vendor');
    const { state, clock } = rig.tracker;
    await rig.sync();
    state.hideBoard(boardId);
    clock.advance(day);
    state.updateSprint(id, { name: 'Ended without a board', state: 'closed' });
    state.touch(trueMembersOf(id)[0] ?? '');
    await rig.reconcile();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await rowsOf(id)).toMatchObject([{ name: 'Ended without a board', state: 'closed' }]);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 0, updated: 0 } });
    clock.advance(day);
    state.showBoard(boardId);
    state.updateSprint(id, { name: 'Listed by a board' });
    for (let run = 0; run < 2; run += 1) {
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board', state: 'closed' }]);
    }
  });

  test('stays as the board told of it last where no issue was read since', async () => {
    const { id, boardId } = await open('vendor');
    const { state, clock } = rig.tracker;
    await rig.sync();
    clock.advance(3 * day);
    state.updateSprint(id, { name: 'Ended by its board', state: 'closed' });
    await rig.sync();
    state.hideBoard(boardId);
    clock.advance(day);
    await rig.reconcile();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await rowsOf(id)).toMatchObject([{ name: 'Ended by its board', state: 'closed' }]);
  });
});

test('a board that becomes one of kanban shows no sprints; they are as their issues tell from then on, until it lists them again', async () => {
  const { id, boardId } = await open('vendor');
  const { state, clock } = rig.tracker;
  const become = (type: 'kanban' | 'scrum') => {
    const board = state.boards.get(boardId);
    if (board !== undefined) state.boards.set(boardId, { ...board, type });
    clock.advance(86_400_000);
  };
  const shownOn = async () =>
    (await rig.rows('select sprint_id from tracker.board_sprints where board_id = $1', [boardId])).length;
  await rig.sync();
  const before = await shownOn();
  expect(before).toBeGreaterThan(0);
  const shownElsewhere = () =>
    rig.rows('select board_id, sprint_id from tracker.board_sprints where board_id <> $1 order by 1, 2', [
      boardId,
    ]);
  const others = await shownElsewhere();
  become('kanban');
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: before });
  expect(await shownOn()).toBe(0);
  state.updateSprint(id, { name: 'Ended on a kanban board', state: 'closed' });
  state.touch(trueMembersOf(id)[0] ?? '');
  clock.advance(60_000);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
  expect(await rowsOf(id)).toMatchObject([{ name: 'Ended on a kanban board', state: 'closed' }]);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 0, updated: 0 } });
  become('scrum');
  state.updateSprint(id, { name: 'Listed by a board' });
  for (let run = 0; run < 2; run += 1) {
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await rowsOf(id)).toMatchObject([{ name: 'Listed by a board', state: 'closed' }]);
  }
  expect(await shownOn()).toBe(before);
  expect(await shownElsewhere()).toEqual(others);
});

test('a board that becomes one of kanban shows no sprints where no board lists any, either', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract', bare: true });
  const { state, clock } = rig.tracker;
  const shown = () =>
    rig.rows<{ board_id: number }>('select board_id::int from tracker.board_sprints order by 1, sprint_id');
  await rig.sync();
  const before = await shown();
  const [{ board_id } = { board_id: 0 }] = before;
  const others = before.filter((row) => row.board_id !== board_id);
  const board = state.boards.get(board_id);
  if (board === undefined) throw new Error('the board is not there');
  state.boards.set(board_id, { ...board, type: 'kanban' });
  clock.advance(86_400_000);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: before.length - others.length });
  expect(await shown()).toEqual(others);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0, counts: { inserted: 0 } });
  expect(await shown()).toEqual(others);
  state.boards.set(board_id, board);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await shown()).toEqual(before);
});

test('sprints that boards have listed stay as they were told where the list is gone for a night', async () => {
  const { id } = await open('vendor');
  const { state, clock, script } = rig.tracker;
  await rig.sync();
  clock.advance(3 * 86_400_000);
  state.updateSprint(id, { name: 'Ended by its board', state: 'closed' });
  await rig.sync();
  script.at({ endpoint: '/rest/agile/1.0/board/{id}/sprint', times: Infinity }, status(404));
  const report = await rig.sync();
  expect(report.streams.find(({ stream }) => stream === 'sprints')).toMatchObject({ status: 'unavailable' });
  expect(await rowsOf(id)).toMatchObject([{ name: 'Ended by its board', state: 'closed' }]);
});

describe('a board that says (400) that it has no sprints', () => {
  const shows = () =>
    rig.rows<{ n: number }>(
      'select count(*)::int as n from tracker.board_sprints group by board_id order by board_id',
    );
  const streamOf = async (name: string) => (await rig.sync()).streams.find(({ stream }) => stream === name);
  const refusing = (board: number) =>
    rig.tracker.script.at(
      {
        match: ({ path }) => path === `/rest/agile/1.0/board/${board}/sprint`,
        times: Number.POSITIVE_INFINITY,
      },
      status(400),
    );

  test('and says so twice has none any more, until it lists them again', async () => {
    const { boardId } = await open('vendor');
    await rig.sync();
    const before = await shows();
    const once = rig.tracker.script.at(
      { match: ({ path }) => path.endsWith(`/${boardId}/sprint`) },
      status(400),
    );
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect([once.fired, await shows()]).toEqual([1, before]);
    const rule = refusing(boardId);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await shows()).toHaveLength(before.length - 1);
    rule.cancel();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await shows()).toEqual(before);
  });

  test('and never had any is read as one without, from the first night on', async () => {
    const { boardId } = await open('vendor');
    refusing(boardId);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await rig.rows('select 1 from tracker.board_sprints where board_id = $1', [boardId])).toEqual([]);
  });

  test('behind its first page is refused: it has some', async () => {
    rig = await openRig({ ...smallSite, years: 3, dialect: 'vendor' });
    const rule = rig.tracker.script.at(
      { match: ({ path, query }) => path.endsWith('/sprint') && query.startAt !== undefined, times: 10 },
      status(400),
    );
    const report = await streamOf('board_sprints');
    expect(report).toMatchObject({ status: 'failed', reason: expect.stringMatching(/answered 400/) });
    expect(rule.fired).toBe(2);
  });
});

describe('sprints that are deleted at the source', () => {
  const sprintIssue = '/rest/agile/1.0/sprint/{id}/issue';
  /** Their own lists answer 404, and where `lists` says so no board shows them any more. */
  const deleteAll = ({ lists }: { readonly lists: boolean }): void => {
    const { script } = rig.tracker;
    const none: Fault = {
      name: 'no sprints',
      answer: (answer) => ({
        ...answer,
        body: Buffer.from(JSON.stringify({ startAt: 0, maxResults: 50, total: 0, isLast: true, values: [] })),
      }),
    };
    script.at({ endpoint: sprintIssue, times: Infinity }, status(404));
    if (lists) script.at({ endpoint: '/rest/agile/1.0/board/{id}/sprint', times: Infinity }, none);
  };
  const night = 86_400_000;
  /** A board's list without that sprint. */
  const without = (id: number): Fault => ({
    name: 'without a sprint',
    answer: (answer) => {
      const body = JSON.parse(String(answer.body));
      const values = body.values.filter((one: { readonly id: number }) => one.id !== id);
      return { ...answer, body: Buffer.from(JSON.stringify({ ...body, total: values.length, values })) };
    },
  });

  test('one and all fail no night: that those whom no board shows any more are not there says nothing of the others', async () => {
    await open('vendor');
    await rig.sync();
    deleteAll({ lists: true });
    for (let one = 0; one < 2; one += 1) {
      rig.tracker.clock.advance(night);
      const report = await rig.sync();
      expect(report.streams.filter((stream) => stream.status !== 'ok')).toEqual([]);
      expect(report).toMatchObject({ status: 'succeeded' });
    }
  });

  test('are deleted here too, with what they held, and are back where a board shows them again', async () => {
    const { id, boardId } = await open('vendor');
    const { state, clock } = rig.tracker;
    const planned = state.addSprint(boardId, { name: 'Planned' });
    for (const issue of trueMembersOf(id).slice(0, 2)) state.moveToSprint(issue, planned.id);
    await rig.sync();
    const held = () => rig.rows('select 1 from tracker.sprint_issues where sprint_id = $1', [planned.id]);
    const told = () => rig.rows('select 1 from bi.sprints where sprint_id = $1', [String(planned.id)]);
    expect([(await held()).length, (await told()).length]).toEqual([2, 1]);
    clock.advance(night);
    state.deleteSprint(planned.id);
    const report = await rig.sync();
    expect(report).toMatchObject({ status: 'succeeded' });
    expect(report.streams.find(({ stream }) => stream === 'sprint_issues')).toMatchObject({ deleted: 3 });
    expect(await rowsOf(planned.id)).toMatchObject([{ name: 'Planned', _deleted_at: expect.any(Date) }]);
    expect([await held(), await told()]).toEqual([[], []]);
    clock.advance(night);
    const asked = rig.tracker.script.at({ endpoint: sprintIssue, times: Infinity }, () => undefined);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0 });
    expect(asked.fired).toBeGreaterThan(0);
    state.sprints.set(planned.id, { ...planned, name: 'Back' });
    clock.advance(night);
    await rig.sync();
    expect(await rowsOf(planned.id)).toMatchObject([{ name: 'Back', _deleted_at: null }]);
  });

  test('stay while an issue names them: whoever sees one of its issues sees a sprint', async () => {
    const { id, boardId } = await open('vendor');
    const { script, clock } = rig.tracker;
    await rig.sync();
    expect((await membersOf(id)).length).toBeGreaterThan(0);
    script.at(
      { endpoint: sprintIssue, times: Infinity, match: ({ path }) => path.includes(`/${id}/`) },
      status(404),
    );
    script.at(
      {
        endpoint: '/rest/agile/1.0/board/{id}/sprint',
        times: Infinity,
        match: ({ path }) => path.includes(`/${boardId}/`),
      },
      without(id),
    );
    clock.advance(8 * night);
    await rig.sync();
    expect(await rig.rows('select 1 from tracker.board_sprints where sprint_id = $1', [id])).toEqual([]);
    expect(await rowsOf(id)).toMatchObject([{ _deleted_at: null }]);
  });

  test('are not taken for deleted where boards are not asked for their sprints: then it is the endpoint that is not there', async () => {
    await open('vendor');
    const night = () => rig.during((deps) => sync({ ...deps, exclude: ['board_sprints'] }, {}));
    await night();
    deleteAll({ lists: false });
    rig.tracker.clock.advance(8 * 86_400_000);
    const report = await night();
    expect(report.streams.find(({ stream }) => stream === 'sprint_issues')).toMatchObject({
      status: 'failed',
    });
    expect(await rig.rows('select 1 from tracker.sprints where _deleted_at is not null')).toEqual([]);
  });

  test('fail the night where their boards show them: then it is the endpoint that is not there', async () => {
    await open('vendor');
    await rig.sync();
    deleteAll({ lists: false });
    rig.tracker.clock.advance(night);
    const report = await rig.sync();
    expect(report.streams.find(({ stream }) => stream === 'sprint_issues')).toMatchObject({
      status: 'failed',
    });
  });
});
