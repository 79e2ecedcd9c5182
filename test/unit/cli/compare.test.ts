import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../simulators/jira/server.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { dialects } from '../../support/small-site.ts';
import { begin, type Ended } from './command.ts';

interface Compared {
  readonly source: number;
  readonly bi: number;
  readonly differences: readonly { onlyIn: string; name: string; why: string; reason: string }[];
}

describe.each(dialects.filter(({ bare }) => !bare))('compare with a tracker: $name', ({ options }) => {
  let tracker: TrackerSimulator;
  let database: TestDatabase;
  beforeAll(async () => {
    [tracker, database] = await Promise.all([startTracker(options), testDatabase()]);
  });
  afterAll(async () => {
    await tracker.close();
    await database.drop();
  });

  const run = (words: readonly string[], more: Record<string, string> = {}): Promise<Ended> => {
    const { url, email, token } = tracker;
    const site = { TRACKER_BASE_URL: url, TRACKER_EMAIL: email, TRACKER_API_TOKEN: token };
    return begin(words, { env: { DATABASE_URL: database.url, ...site, ...more } }).ended;
  };
  const ofWeb = ['compare', 'tracker', '--jql', 'project = WEB ORDER BY created DESC'];
  const both = [...ofWeb, '--where', "project_key = 'WEB'"];
  const compare = async (words: readonly string[], more?: Record<string, string>) => {
    const { code, out, err } = await run([...words, '--json'], more);
    expect(err).toBe('');
    return { code, ...(JSON.parse(out) as Compared) };
  };
  const idsOfWeb = (): readonly string[] =>
    [...tracker.oracle().issues.values()].filter(({ key }) => key.startsWith('WEB-')).map(({ id }) => id);

  test('equal sides end with 0, whatever the order that the JQL asks for', async () => {
    const [hidden = '', rejected = ''] = idsOfWeb().slice(-2);
    tracker.state.setRaw(hidden, 'security', '{"id": "10100", "name": "Board"}');
    tracker.state.setRaw(rejected, 'created', '"2024-02-30T10:00:00.000+0000"');
    expect((await run(['sync', '--quiet'])).code).toBe(0);
    const known = [...tracker.oracle().issues.values()].filter(
      ({ projectKey }) => projectKey !== 'WEB',
    ).length;
    const { code, source, bi, differences } = await compare([
      'compare',
      'tracker',
      '--jql',
      'project != WEB',
      '--where',
      "project_key <> 'WEB' -- all others",
    ]);
    expect({ code, source, bi, differences }).toEqual({ code: 0, source: known, bi: known, differences: [] });
  });

  test('each issue that one side alone counts is named, with the reason', async () => {
    const { state, clock } = tracker;
    const [gone = '', moved = '', touched = ''] = idsOfWeb();
    const [hidden = '', rejected = ''] = idsOfWeb().slice(-2);
    clock.advance(60_000);
    const other = [...tracker.oracle().issues.values()].find(({ projectKey }) => projectKey !== 'WEB');
    const names = Object.entries({ gone, moved, touched, hidden, rejected }).map(([what, id]) => [
      what,
      state.keyOf(id),
    ]);
    const keys = Object.fromEntries(names) as Record<string, string>;
    state.delete(gone);
    state.move(moved, other?.projectKey ?? '');
    const fresh = state.keyOf(state.create('WEB').id);
    const found = await compare(both);
    const expected = idsOfWeb().filter((id) => id !== gone).length;
    // The source has the hidden, the rejected and the new one, the warehouse those that were deleted and moved.
    expect(found).toMatchObject({ code: 1, source: expected, bi: expected - 1 });
    const reasons = found.differences.map(({ name, onlyIn, why }) => [name, `${onlyIn}: ${why}`] as const);
    expect(Object.fromEntries(reasons)).toEqual({
      [keys.hidden ?? '']: 'source: hidden',
      [keys.rejected ?? '']: 'source: rejected',
      [fresh]: 'source: new',
      [keys.gone ?? '']: 'bi: gone',
      [keys.moved ?? '']: 'bi: changed',
    });
  });

  test('after a sync and a reconcile only what is hidden and rejected is left', async () => {
    await run(['sync', '--quiet']);
    await run(['reconcile', 'tracker', '--quiet']);
    const { source, bi, differences } = await compare(both);
    expect(differences.map(({ why }) => why).sort()).toEqual(['hidden', 'rejected']);
    expect(source - bi).toBe(2);
    // Without a condition the issues that the JQL finds are looked up, and no more.
    expect(await compare(ofWeb)).toMatchObject({ code: 1, source, bi });
  });

  test('a condition that asks for something else is named as the reason', async () => {
    const { code, out } = await run([
      ...ofWeb,
      '--where',
      "project_key = 'WEB' and issue_type = 'Bug'",
      '--limit',
      '2',
    ]);
    expect(code).toBe(1);
    expect(out.match(/^source +WEB-\d+ +both sides have the same version/gm)).toHaveLength(2);
    expect(out).toContain('Only the first 2 are named');
  });

  test('what the pipeline leaves out is named as left out', async () => {
    const only = { TRACKER_JQL: 'project = WEB' };
    await run(['sync', '--quiet'], only);
    tracker.clock.advance(60_000);
    const other = [...tracker.oracle().issues.values()].find(({ projectKey }) => projectKey !== 'WEB');
    const key = tracker.state.keyOf(tracker.state.create(other?.projectKey ?? '').id);
    const { differences } = await compare(['compare', 'tracker', '--jql', `key = ${key}`], only);
    expect(differences).toMatchObject([{ onlyIn: 'source', name: key, why: 'leftOut' }]);
  });

  test('a query that the source refuses, and a condition that is wrong or writes, are refused with what is wrong', async () => {
    expect(await run(['compare', 'tracker', '--jql', 'nonsense ='])).toMatchObject({
      code: 2,
      err: expect.stringContaining('refuses the JQL'),
    });
    expect(await run([...ofWeb, '--where', 'no_such_column'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('no_such_column'),
    });
    expect(
      await run([...ofWeb, '--where', "nextval(pg_get_serial_sequence('ops.runs', 'run_id')) > 0"]),
    ).toMatchObject({
      code: 2,
    });
    expect(await run([...ofWeb, '--where', 'true); drop schema bi cascade; select (true'])).toMatchObject({
      code: 2,
    });
  });
});

test('a pipeline whose source has no query language says so', async () => {
  const env = { WORKFLOW_BASE_URL: 'http://127.0.0.1:9' };
  const database = await testDatabase();
  const words = ['compare', 'workflow', '--jql', 'project = WEB'];
  const { code, err } = await begin(words, { env: { ...env, DATABASE_URL: database.url } }).ended;
  await database.drop();
  expect(code).toBe(2);
  expect(err).toContain('cannot be asked by a query');
});
