import { expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { Interrupted } from '../../src/core/errors.ts';
import { differences, issueDifferences } from '../support/oracle.ts';
import { type Rig, readListsOfSprints, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

const sprintIssues = '/rest/agile/1.0/sprint/{id}/issue';
const succeeded = { status: 'succeeded' };

/** A run that is stopped at the n-th request to an endpoint. */
async function stopped(rig: Rig, endpoint: string, nth: number): Promise<void> {
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ endpoint, nth }, () => stop.abort(new Interrupted('asked to stop')));
  await expect(rig.sync({}, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  rule.cancel();
}

const paged = dialects.filter(({ name }) => name !== 'contract');

test.each(paged)('a run continues wherever it was stopped ($name)', async (dialect) => {
  const rig = await testRig(dialect.options);
  readListsOfSprints(rig);
  const server = dialect.name === 'Data Center';
  const search = server ? '/rest/api/2/search' : '/rest/api/3/search/jql';
  const stops = [
    server ? ['/rest/api/2/field', 1] : ['/rest/api/3/field/search', 2],
    [search, 3],
    [search, 4],
    [sprintIssues, 2],
    [sprintIssues, 9],
  ] satisfies [string, number][];
  for (const [endpoint, nth] of stops) await stopped(rig, endpoint, nth);
  const statuses = await rig.rows('select status, count(*)::int as n from ops.runs group by 1');
  expect(statuses).toEqual([{ status: 'interrupted', n: stops.length }]);
  // Each stopped run states what it had loaded.
  const runs = await rig.rows<{ received: string; of_streams: string }>(
    `select r.run_id, r.received, s.received as of_streams from ops.runs r
     join (select run_id, sum(received) as received from ops.run_streams group by 1) s using (run_id)`,
  );
  for (const run of runs) expect(run).toMatchObject({ received: run.of_streams });
  expect(runs.filter(({ received }) => Number(received) > 0)).not.toEqual([]);
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(await differences(rig, dialect)).toEqual([]);
});

test('slices that are done are not read a second time, except those of open sprints', async () => {
  const rig = await testRig({ dialect: 'vendor' });
  const idsOf = async (query: string) => (await rig.rows<{ id: string }>(query)).map(({ id }) => id);
  readListsOfSprints(rig);
  await stopped(rig, sprintIssues, 12);
  const done = await idsOf(
    `select s.partition ->> 'sprint_id' as id from ops.slices s join ops.walks w using (walk_id)
     where w.stream = 'sprint_issues' and w.status = 'open' and s.status = 'done'`,
  );
  expect(done.length).toBeGreaterThan(4);
  const from = rig.tracker.log.length;
  await rig.sync();
  const read = rig.tracker.log
    .slice(from)
    .flatMap(({ path }) => /^\/rest\/agile\/1.0\/sprint\/(\d+)\/issue$/.exec(path)?.[1] ?? []);
  const twice = read.filter((id) => done.includes(id));
  const closed = await idsOf("select id::text from tracker.sprints where state = 'closed'");
  expect(twice.filter((id) => closed.includes(id))).toEqual([]);
  expect(twice.length).toBeLessThan(done.length / 2);
  expect(new Set([...read, ...done]).size).toBe(rig.tracker.oracle().sprints.length);
  expect(await differences(rig)).toEqual([]);
});

test('what was read before a failure stays, and its checkpoint does not move', async () => {
  const rig = await testRig({ dialect: 'contract' });
  const issues = { streams: ['issues'] };
  const secondPage = ({ body }: { readonly body?: unknown }) => /"startAt":99/.test(JSON.stringify(body));
  const rule = rig.tracker.script.at(
    { endpoint: '/rest/api/3/search/jql', times: Infinity, match: secondPage },
    status(503),
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'failed' });
  expect(rule.fired).toBeGreaterThan(1);
  expect(await rig.rows('select id from tracker.issues')).toHaveLength(100);
  expect(await rig.rows('select 1 from ops.checkpoints')).toEqual([]);
  rule.cancel();
  expect(await rig.sync(issues)).toMatchObject({ ...succeeded, counts: { inserted: 50 } });
  expect(await issueDifferences(rig)).toEqual([]);
});

test('owners whose list failed the first time are read when it comes, closed ones too', async () => {
  const rig = await testRig({ dialect: 'contract' });
  const list = { endpoint: '/rest/agile/1.0/board/{id}/sprint', times: Infinity };
  const rule = rig.tracker.script.at(list, status(503));
  expect(await rig.sync()).toMatchObject({ status: 'partly_failed' });
  expect(rule.fired).toBeGreaterThan(0);
  rule.cancel();
  expect(await rig.sync()).toMatchObject(succeeded);
  expect(await differences(rig)).toEqual([]);
});

test('sprints closed long ago are read once a week', async () => {
  const rig = await testRig({ dialect: 'vendor' });
  await rig.sync();
  const { state, clock } = rig.tracker;
  const { sprintIssues: members } = rig.tracker.oracle();
  const closed = members.find(({ sprintId }) => state.sprints.get(sprintId)?.state === 'closed');
  clock.advance(60_000);
  state.update(closed?.issueId ?? '', { sprintIds: [] });
  await rig.sync();
  expect(await differences(rig)).toEqual([
    `sprint_issues ${closed?.sprintId}/${closed?.issueId}: should not be there`,
  ]);
  clock.advance(7 * 86_400_000);
  await rig.sync();
  expect(await differences(rig)).toEqual([]);
});
