/**
 * One status code has more than one meaning. Once the account's own endpoint answers, a 401 or 403 elsewhere is
 * about that endpoint or owner: raycast/extensions#11212, PipedreamHQ/pipedream#3432 (a token without the scopes
 * of Jira Software), gioboa/jira-plugin#26 (captcha), estuary/connectors#4848 (422 of a board without columns).
 */
import { expect, onTestFinished, test } from 'vitest';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import { AuthFailed } from '../../src/core/errors.ts';
import type { RunReport } from '../../src/core/run.ts';
import { bearer } from '../../src/http/auth.ts';
import { differences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';

const times = Number.POSITIVE_INFINITY;
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name);
const inJson = (code: number, body: object): Fault =>
  status(code, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const noScope = inJson(401, { code: 401, message: 'Unauthorized; scope does not match' });
const to = (path: RegExp) => ({
  times,
  match: (request: { readonly path: string }) => path.test(request.path),
});

/** The first Scrum board, and a rig in which its sprints answer with the fault. */
const closedBoard = async (fault: Fault) => {
  const rig = await testRig({ issues: 40, dialect: 'vendor' });
  const board = rig.tracker.oracle().boards.find(({ type }) => type === 'scrum')?.id ?? 0;
  const rule = rig.tracker.script.at(to(RegExp(`/board/${board}/sprint$`)), fault);
  return { rig, board, rule };
};
const sprintsOn = (rig: Rig, board: number) =>
  rig.rows('select sprint_id from tracker.board_sprints where board_id = $1', [board]);

test('a 401 at one board closes that board alone, which can be left out; its rows stay', async () => {
  const { rig, board, rule } = await closedBoard(noScope);
  rule.cancel();
  await rig.sync();
  const before = await sprintsOn(rig, board);
  expect(before.length).toBeGreaterThan(0);
  rig.tracker.script.at(to(RegExp(`/board/${board}/sprint$`)), noScope);
  rig.tracker.clock.advance(86_400_000);
  const report = await rig.sync({}, { deps: { excludedBy: 'TRACKER_EXCLUDE' } });
  expect(report.status).toBe('partly_failed');
  const bad = report.streams.filter((one) => one.status !== 'ok').map(({ stream }) => stream);
  expect(bad).toEqual(['sprints', 'board_sprints']);
  const reason = streamOf(report, 'sprints')?.reason;
  expect(reason).toContain(`sprints (board_id ${board})`);
  expect(reason).toContain('scope does not match');
  expect(reason).toContain('docs/guides/jira-cloud.md');
  expect(reason).toContain(`add boards:${board} to TRACKER_EXCLUDE`);
  expect(reason).not.toContain('credentials right');

  const asked = rig.tracker.log.length;
  const without = await rig.sync({}, { deps: { exclude: [`boards:${board}`] } });
  expect(without.status).toBe('succeeded');
  const paths = rig.tracker.log.slice(asked).map(({ path }) => path);
  expect(paths.filter((path) => path.includes(`/board/${board}/`))).toEqual([]);
  const ownSprints = rig.tracker
    .oracle()
    .boardSprints.flatMap((one) => (one.boardId === board ? [one.sprintId] : []));
  const created = await rig.rows<{ id: string }>('select id from tracker.sprints where board_id = $1', [
    board,
  ]);
  expect(created.length).toBeGreaterThan(0);
  for (const id of created.map((row) => Number(row.id)).filter((one) => ownSprints.includes(one)))
    expect(paths).not.toContain(`/rest/agile/1.0/sprint/${id}/issue`);
  expect(paths.some((path) => /\/board\/\d+\/sprint/.test(path))).toBe(true);
  expect(await sprintsOn(rig, board)).toEqual(before);
  rig.tracker.script.clear();
  expect((await rig.sync()).status).toBe('succeeded');
  expect(await differences(rig)).toEqual([]);
});

test('a token that expires in the middle of a run ends it, though an endpoint was closed before', async () => {
  const { rig, rule } = await closedBoard(noScope);
  const expired = rig.tracker.script.at({ times, match: () => rule.fired > 1 }, status(401));
  await expect(rig.sync()).rejects.toThrow(AuthFailed);
  expect(expired.fired).toBeGreaterThan(0);
  expect(await rig.rows('select status, error_code from ops.runs')).toEqual([
    { status: 'failed', error_code: 'auth' },
  ]);
});

test.each([401, 403])('a search that answers %i costs the issues alone', async (code) => {
  const rig = await testRig({ issues: 20, dialect: 'vendor' });
  const rule = rig.tracker.script.at(to(/\/search\/jql$/), status(code));
  const report = await rig.sync();
  expect(rule.fired).toBeGreaterThan(1);
  expect(report.status).toBe('partly_failed');
  expect(streamOf(report, 'issues')?.reason).toMatch(
    RegExp(`search/jql answered ${code}.*add issues to exclude`),
  );
  expect(streamOf(report, 'projects')?.status).toBe('ok');
  expect(streamOf(report, 'boards')?.status).toBe('ok');
});

test('users that answer 401 to every list cost the users alone, and the reason says what is missing', async () => {
  const rig = await testRig({ issues: 20, dialect: 'vendor' });
  rig.tracker.script.at(to(/\/users?\/search$/), status(401));
  const report = await rig.sync();
  const bad = report.streams.filter((one) => one.status !== 'ok');
  expect(bad.map(({ stream }) => stream)).toEqual(['users']);
  expect(bad[0]?.reason).toMatch(/answered 401.*"Browse users and groups".*add users to exclude/);
});

test.each([
  ['400', inJson(400, { errorMessages: ['Das Board unterstützt keine Sprints.'], errors: {} })],
  ['422', inJson(422, { errorMessages: ['This board has no columns with a mapped status.'], errors: {} })],
])('a %s at the sprints of a board says that it has none', async (_, fault) => {
  const { rig, board, rule } = await closedBoard(fault);
  const report = await rig.sync();
  expect(rule.fired).toBeGreaterThan(1);
  expect(report.status).toBe('succeeded');
  expect(await sprintsOn(rig, board)).toEqual([]);
});

test('a 400 at the sprints of a board that says something of the login is no board without sprints', async () => {
  const rejected = 'The IP address has been rejected because it is not on the allowed list. See your admin.';
  const { rig, board } = await closedBoard(inJson(400, { errorMessages: [rejected], errors: {} }));
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(streamOf(report, 'sprints')?.reason).toMatch(RegExp(`board_id ${board}.*this IP to the allowlist`));
});

const page = (text: string, code: number, headers: Readonly<Record<string, string>> = {}): Fault =>
  status(code, {
    headers: { 'content-type': 'text/html', ...headers },
    body: `<html><body>${text}</body></html>`,
  });

test.each([
  [
    'the allowlist of a site',
    page('This IP address has been rejected, it is not on the allowed list', 403),
    /this IP to the allowlist/,
  ],
  [
    'a captcha',
    page('Basic', 403, { 'x-authentication-denied-reason': 'CAPTCHA_CHALLENGE; login-url=x' }),
    /captcha/,
  ],
  [
    'a suspended site',
    inJson(404, { message: 'Tenant is restricted: suspended-payment' }),
    /site is suspended/,
  ],
  [
    'an expired token',
    page('Client must be authenticated to access this resource.', 401),
    /has expired.*year/,
  ],
  ['the gateway', inJson(401, { code: 401, message: 'Unauthorized' }), /has expired.*year/],
])('%s that refuses everything ends the run with advice', async (_, fault, advice) => {
  const rig = await testRig({ issues: 5, dialect: 'vendor' });
  rig.tracker.script.at(to(/./), fault);
  await expect(rig.sync()).rejects.toThrow(advice);
  await expect(rig.sync()).rejects.toBeInstanceOf(AuthFailed);
});

test('a Bearer token at the address of a site of Jira Cloud is told how to sign in', async () => {
  const rig = await testRig({ issues: 5, dialect: 'vendor' });
  const settings = { auth: bearer({ reveal: () => rig.tracker.token }) };
  await expect(rig.sync({}, { settings })).rejects.toThrow(/TRACKER_AUTH=basic/);
});

test('a project that is left out is neither read nor asked for, and keeps its rows', async () => {
  const rig = await testRig({ issues: 60, dialect: 'vendor' });
  await rig.sync();
  const { key } = (await rig.rows<{ key: string }>('select key from tracker.projects order by id'))[0] ?? {
    key: '',
  };
  const rows = () =>
    rig.rows(
      `select i.id from tracker.issues i join tracker.projects p on p.id = i.project_id where p.key = $1
      and i._deleted_at is null order by 1`,
      [key],
    );
  const before = await rows();
  expect(before.length).toBeGreaterThan(1);
  rig.tracker.clock.advance(3_600_000);
  const created = rig.tracker.state.create(key);
  const settings = { exclude: [`projects:${key}`] };
  expect((await rig.sync({}, { settings })).status).toBe('succeeded');
  expect(await rows()).toEqual(before);
  const asked = rig.tracker.log.length;
  expect((await rig.reconcile({}, { settings })).status).toBe('succeeded');
  expect(rig.tracker.log.slice(asked).filter(({ path }) => path.includes('/api/3/issue/'))).toEqual([]);
  expect(await rows()).toEqual(before);
  expect((await rig.sync()).status).toBe('succeeded');
  expect((await rows()).length).toBe(before.length + 1);
  expect(created).toBeDefined();
});

test('a reconciliation goes on where one record is closed to the account', async () => {
  const rig = await testRig({ issues: 60, dialect: 'vendor' });
  await rig.sync();
  const [hidden, gone] = (
    await rig.rows<{ id: string }>('select id from tracker.issues order by id desc')
  ).map(({ id }) => id);
  const { state, script } = rig.tracker;
  onTestFinished(() => script.clear());
  state.delete(gone ?? '');
  state.delete(hidden ?? '');
  script.at(to(RegExp(`/api/3/issue/${hidden}$`)), status(403));
  const report = await rig.reconcile();
  expect(report.error?.message).toContain('they are closed to the account');
  const dead = await rig.rows('select id from tracker.issues where _deleted_at is not null');
  expect(dead).toEqual([{ id: gone }]);
});
