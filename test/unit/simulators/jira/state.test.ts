import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../../simulators/jira/server.ts';
import { type Ask, ask, type Got } from '../ask.ts';

const start = new Date('2026-01-15T12:00:00Z');
const everything = 'created >= "2000-01-01" ORDER BY key ASC';
let tracker: TrackerSimulator;
let site: Ask;
beforeEach(async () => {
  tracker = await startTracker({ issues: 120, now: start });
  site = ask(tracker);
  tracker.clock.advance(60_000);
});
afterEach(async () => {
  expect(tracker.errors).toEqual([]);
  await tracker.close();
});

const shown = async (jql: string): Promise<Got> => {
  const [issue, ...others] = await site.walk(jql, { expand: 'changelog' });
  if (issue === undefined || others.length > 0)
    throw new Error(`${jql} finds ${others.length + (issue === undefined ? 0 : 1)} issues`);
  return issue;
};
const keys = async (jql = everything): Promise<readonly string[]> =>
  (await site.walk(jql, { fields: ['id'] })).map((one) => one.key);
const fresh = async (): Promise<readonly string[]> =>
  keys(`updated >= ${start.getTime() + 1} ORDER BY key ASC`);

describe('issues', () => {
  test('a new issue is found, with the next number and a larger id', async () => {
    const before = await keys('project = PAY');
    const made = tracker.state.create('PAY', { summary: 'Hello', labels: ['x'] });
    expect(Number(made.id)).toBe(10001 + 120);
    expect(await fresh()).toEqual([`PAY-${made.number}`]);
    expect(before).not.toContain(`PAY-${made.number}`);
    expect((await keys('project = PAY')).at(-1)).toBe(`PAY-${made.number}`);
    expect((await shown(`id = ${made.id}`)).fields).toMatchObject({
      summary: 'Hello',
      labels: ['x'],
      created: '2026-01-15T13:01:00.000+0100',
    });
  });

  test('an update bumps updated and is in the changelog; one without a bump is neither', async () => {
    const issue = tracker.state.issue('10050');
    tracker.state.update('10050', { statusId: '10003', summary: 'Changed' });
    const changed = await shown('id = 10050');
    expect(changed.fields).toMatchObject({ summary: 'Changed', status: { id: '10003', name: 'Blocked' } });
    expect(changed.changelog?.total).toBe(issue.history.length + 1);
    expect(changed.changelog?.histories[0]).toMatchObject({
      created: '2026-01-15T13:01:00.000+0100',
      items: [
        { field: 'status', from: issue.statusId, to: '10003', toString: 'Blocked' },
        { field: 'summary', fromString: issue.summary, toString: 'Changed' },
      ],
    });
    expect(await fresh()).toEqual([changed.key]);
    tracker.state.update('10051', { summary: 'Silent' }, { bump: false });
    expect(await fresh()).toEqual([changed.key]);
    expect((await shown('id = 10051')).fields.summary).toBe('Silent');
    tracker.state.touch('10052');
    expect(await fresh()).toHaveLength(2);
  });

  test('a deleted issue is nowhere, and can come back', async () => {
    const key = tracker.state.keyOf('10050');
    tracker.state.delete('10050');
    expect(await keys()).not.toContain(key);
    expect((await site.get('/rest/api/3/issue/10050')).status).toBe(404);
    expect((await site.get(`/rest/api/3/issue/${key}`)).status).toBe(404);
    expect(tracker.oracle().issues.get('10050')).toMatchObject({ deleted: true, key });
    tracker.state.restore('10050');
    expect(await keys()).toContain(key);
    expect((await site.get(`/rest/api/3/issue/${key}`)).body.id).toBe('10050');
  });

  test('a moved issue keeps its id, gets a key, and its old key leads to it', async () => {
    const oldKey = tracker.state.keyOf('10050');
    const target = oldKey.startsWith('WEB-') ? 'PAY' : 'WEB';
    const moved = tracker.state.move(oldKey, target);
    const key = `${target}-${moved.number}`;
    expect(await keys()).toContain(key);
    expect(await keys()).not.toContain(oldKey);
    const got = await site.get(`/rest/api/3/issue/${oldKey}?expand=changelog`);
    expect(got.status).toBe(200);
    expect(got.body).toMatchObject({ id: '10050', key });
    expect(JSON.stringify(got.body.changelog)).toContain(
      `"fromString":"${oldKey}","to":null,"toString":"${key}"`,
    );
    expect(tracker.oracle().issues.get('10050')).toMatchObject({
      key,
      oldKeys: [oldKey],
      projectKey: target,
    });
    expect((await keys()).length).toBe(120);
  });
});

describe('the index lags', () => {
  test('a write is found only when its time has come, but read at once', async () => {
    tracker.state.indexLagMs = 30_000;
    const made = tracker.state.create('PAY', { summary: 'late' });
    const was = tracker.state.issue('10050');
    tracker.state.update('10050', { summary: 'changed' });
    tracker.state.delete('10051');
    const gone = tracker.oracle().issues.get('10051')?.key;
    expect(await fresh()).toEqual([]);
    expect((await shown('id = 10050')).fields.summary).toBe(was.summary);
    expect(await keys()).toContain(gone);
    expect((await site.get('/rest/api/3/issue/10050')).body.fields).toMatchObject({ summary: 'changed' });
    expect((await site.get(`/rest/api/3/issue/${made.id}`)).status).toBe(200);
    expect((await site.get('/rest/api/3/issue/10051')).status).toBe(404);
    tracker.clock.advance(29_999);
    expect(await fresh()).toEqual([]);
    tracker.clock.advance(1);
    expect(await fresh()).toHaveLength(2);
    expect((await shown('id = 10050')).fields.summary).toBe('changed');
    expect(await keys()).not.toContain(gone);
  });

  test('the vendor shows issues fresh that it is asked to reconcile', async () => {
    const vendor = await startTracker({ issues: 20, now: start, dialect: 'vendor', indexLagMs: 60_000 });
    try {
      vendor.state.update('10005', { summary: 'fresh' });
      const { search } = ask(vendor);
      const stale = await search({ jql: 'id = 10005', fields: ['summary'] });
      const sure = await search({ jql: 'id = 10005', fields: ['summary'], reconcileIssues: [10005] });
      expect(stale.body.issues[0]?.fields.summary).not.toBe('fresh');
      expect(sure.body.issues[0]?.fields.summary).toBe('fresh');
    } finally {
      await vendor.close();
    }
  });
});
