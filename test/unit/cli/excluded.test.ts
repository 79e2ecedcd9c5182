import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { status } from '../../../simulators/shared/faults.ts';
import { findings } from '../../../src/outbound/health.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { smallSite } from '../../support/small-site.ts';
import { type Ended, tidemark } from './command.ts';

let database: TestDatabase;
let tracker: TrackerSimulator;

beforeAll(async () => {
  database = await testDatabase();
  tracker = await startTracker({ ...smallSite, dialect: 'vendor' });
});
afterAll(async () => {
  await tracker.close();
  await database.drop();
});

const run = (words: string, exclude = '', rotate = ''): Promise<Ended> => {
  const { url, email, token } = tracker;
  const source = { TRACKER_BASE_URL: url, TRACKER_EMAIL: email, TRACKER_API_TOKEN: token };
  return tidemark(words, {
    env: { DATABASE_URL: database.url, ...source, TRACKER_EXCLUDE: exclude, TRACKER_ROTATE: rotate },
  });
};
const rows = async (query: string): Promise<unknown> => (await database.warehouse.pool.query(query)).rows;
const freshness = (): Promise<unknown> =>
  rows(`select stream, freshness, is_stale from bi.data_freshness where stream in ('users', 'groups', 'group_members', 'issues')
    order by stream`);
const people = /users?\/search|group/;

// One story: each test finds what the ones before it left.
describe('streams that are left out by configuration', () => {
  test('are read by no run, and the run succeeds though the source forbids them', async () => {
    const shut = tracker.script.at({ match: ({ path }) => people.test(path), times: Infinity }, status(403));
    expect((await run('sync')).code).toBe(3);
    expect(shut.fired).toBeGreaterThan(0);
    const before = tracker.log.length;
    const { code, err } = await run('sync', 'users,groups');
    expect(code).toBe(0);
    expect(err).toMatch(/left out by configuration: users, groups, group_members$/m);
    expect(tracker.log.slice(before).filter(({ path }) => people.test(path))).toEqual([]);
    expect(tracker.log.length).toBeGreaterThan(before);
    shut.cancel();
  });

  test('are excluded in status and check, together with the streams that are read for each of their rows', async () => {
    const excluded = (stream: string) => ({ stream, freshness: 'excluded', is_stale: false });
    const issues = { stream: 'issues', freshness: 'fresh', is_stale: false };
    expect(await freshness()).toEqual([
      ...['group_members', 'groups'].map(excluded),
      issues,
      excluded('users'),
    ]);
    const { code, out } = await run('status', 'users,groups');
    expect(code).toBe(0);
    expect(out).toMatch(/^All 10 streams fresh, 3 excluded\./);
    expect(out).toMatch(/tracker\.users +excluded .*left out by configuration/);
    expect((await run('check', 'users,groups')).out).toContain('left out: users, groups, group_members');
  });

  test('are read where they are named', async () => {
    expect(await rows('select from tracker.users where _row_hash is not null')).toEqual([]);
    expect((await run('sync --stream users', 'users,groups')).code).toBe(0);
    const loaded = 'select count(*)::int as count from tracker.users where _row_hash is not null';
    expect(await rows(loaded)).toEqual([{ count: smallSite.users }]);
  });

  test('never become stale', async () => {
    const stale = async (): Promise<readonly string[]> =>
      (await findings(database.warehouse.db, ['tracker'])).map(({ cause }) => cause?.split(' ')[0] ?? '');
    await rows(`update ops.walks set opened_at = opened_at - interval '3 days' where stream = 'users'`);
    expect(await stale()).toEqual([]);
    await rows('update ops.streams set excluded = false');
    expect(await stale()).toEqual(['users']);
  });

  test('are fresh after the first run that does not leave them out', async () => {
    expect((await run('sync')).code).toBe(0);
    expect(await freshness()).toMatchObject(Array(4).fill({ freshness: 'fresh' }));
  });

  test('can be single owners: a board is not asked for, and keeps its rows', async () => {
    const boards = 'select board_id from tracker.board_sprints order by board_id, sprint_id';
    const before = (await rows(boards)) as readonly { readonly board_id: string }[];
    const board = before[0]?.board_id ?? '';
    const closed = ({ path }: { readonly path: string }) => path.includes(`/board/${board}/sprint`);
    const shut = tracker.script.at({ match: closed, times: Infinity }, status(401));
    const ended = await run('sync');
    expect(ended.code).toBe(3);
    expect(`${ended.out}${ended.err}`).toContain(`add boards:${board} to TRACKER_EXCLUDE`);
    const asked = tracker.log.length;
    const without = await run('sync', `boards:${board}`);
    expect(without.code).toBe(0);
    expect(without.err).toMatch(RegExp(`left out by configuration: boards:${board}$`, 'm'));
    expect(tracker.log.slice(asked).filter(closed)).toEqual([]);
    expect(await rows(boards)).toEqual(before);
    expect((await run('check', `boards:${board}`)).out).toContain(`left out: boards:${board}`);
    shut.cancel();
  });

  test.each([
    ['statuses:3', 'there is no stream for TRACKER_EXCLUDE: “statuses”'],
    ['board:3', 'there is no stream for TRACKER_EXCLUDE: “board”'],
    ['user', 'there is no stream for TRACKER_EXCLUDE: “user”'],
    ['changelog', 'there is no stream for TRACKER_EXCLUDE: “changelog”'],
    [
      'projects,fields,users,groups,boards,statuses,issue_types,priorities,issues',
      'TRACKER_EXCLUDE leaves nothing of tracker to read',
    ],
  ])('are streams, and not all: %s', async (exclude, message) => {
    const { code, out, err } = await run('sync', exclude);
    expect({ code, said: `${out}${err}`.includes(message) }).toEqual({ code: 2, said: true });
  });
});

test.each([
  ['issues:500', 'there is no stream for TRACKER_ROTATE: “issues”'],
  ['group_members', 'TRACKER_ROTATE: write group_members:1000, the requests of a run, or group_members:90m'],
  ['group_members:0', 'TRACKER_ROTATE: write group_members:1000, the requests of a run'],
  ['group_members:0m', 'TRACKER_ROTATE: write group_members:1000, the requests of a run'],
  ['group_members:90h', 'TRACKER_ROTATE: write group_members:1000, the requests of a run'],
])(
  'a stream that rotates can, and says with how many requests or minutes: not %s',
  async (rotate, message) => {
    const { code, out, err } = await run('check', '', rotate);
    expect({ code, said: `${out}${err}`.includes(message) }).toEqual({ code: 2, said: true });
  },
);
