import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startTracker, type TrackerSimulator } from '../../../../simulators/jira/server.ts';
import { type Ask, ask } from '../ask.ts';

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

const summaryOf = async (id: string): Promise<unknown> => (await site.walk(`id = ${id}`))[0]?.fields.summary;
const keys = async (jql = everything): Promise<readonly string[]> =>
  (await site.walk(jql, { fields: ['id'] })).map((one) => one.key);
const fresh = () => keys(`updated >= ${start.getTime() + 1} ORDER BY key ASC`);

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
  const change = `"fromString":"${oldKey}","to":null,"toString":"${key}"`;
  expect(JSON.stringify(got.body.changelog)).toContain(change);
  const truth = tracker.oracle().issues.get('10050');
  expect(truth).toMatchObject({ key, oldKeys: [oldKey], projectKey: target });
  expect((await keys()).length).toBe(120);
});

test('with an index lag, a write is found later and read at once', async () => {
  tracker.state.indexLagMs = 30_000;
  const made = tracker.state.create('PAY', { summary: 'late' });
  const was = tracker.state.issue('10050');
  tracker.state.update('10050', { summary: 'changed' });
  tracker.state.delete('10051');
  const gone = tracker.oracle().issues.get('10051')?.key;
  expect(await fresh()).toEqual([]);
  expect(await summaryOf('10050')).toBe(was.summary);
  expect(await keys()).toContain(gone);
  expect((await site.get('/rest/api/3/issue/10050')).body.fields).toMatchObject({ summary: 'changed' });
  expect((await site.get(`/rest/api/3/issue/${made.id}`)).status).toBe(200);
  expect((await site.get('/rest/api/3/issue/10051')).status).toBe(404);
  tracker.clock.advance(29_999);
  expect(await fresh()).toEqual([]);
  tracker.clock.advance(1);
  expect(await fresh()).toHaveLength(2);
  expect(await summaryOf('10050')).toBe('changed');
  expect(await keys()).not.toContain(gone);
});

test('the vendor shows issues of reconcileIssues without lag', async () => {
  const vendor = await startTracker({ issues: 20, now: start, dialect: 'vendor', indexLagMs: 60_000 });
  onTestFinished(() => vendor.close());
  vendor.state.update('10005', { summary: 'fresh' });
  const { search } = ask(vendor);
  const stale = await search({ jql: 'id = 10005', fields: ['summary'] });
  const sure = await search({ jql: 'id = 10005', fields: ['summary'], reconcileIssues: [10005] });
  expect(stale.body.issues[0]?.fields.summary).not.toBe('fresh');
  expect(sure.body.issues[0]?.fields.summary).toBe('fresh');
});

test('the same seed gives the same company, another seed another', async () => {
  const made = async (seed: number) => {
    const company = await startTracker({ seed, issues: 40, now: start });
    const truth = company.oracle();
    const pages = (await ask(company).walk('created >= 0', { expand: 'changelog' })).map((one) =>
      JSON.stringify(one).replaceAll(company.url, ''),
    );
    await company.close();
    return { ...truth, issues: [...truth.issues.values()], pages };
  };
  const one = await made(5);
  const repeated = await made(5);
  const other = await made(6);
  expect(repeated).toEqual(one);
  expect(other.pages).not.toEqual(one.pages);
});
