import { afterEach, describe, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { Interrupted } from '../../src/core/errors.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite, tongues } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

describe.each(tongues)('from a tracker that speaks $tongue', ({ options, bare }) => {
  test('a run that is stopped between pages or slices goes on where it was, wherever it is stopped', async () => {
    rig = await openRig(options);
    const { script } = rig.tracker;
    let stopped = 0;
    for (const [endpoint, nth] of [
      ['/rest/api/3/field/search', 2],
      ['/rest/api/3/search/jql', 5],
      ['/rest/api/3/search/jql', 6],
      ['/rest/agile/1.0/sprint/{id}/issue', 2],
      ['/rest/agile/1.0/sprint/{id}/issue', 9],
    ] as const) {
      const stop = new AbortController();
      const rule = script.at({ endpoint, nth }, () => stop.abort(new Interrupted('asked to stop')));
      const outcome = await rig.sync({}, { signal: stop.signal }).catch((error: unknown) => error);
      expect(outcome).toBeInstanceOf(Interrupted);
      expect(rule.fired).toBe(1);
      stopped += rule.fired;
      rule.cancel();
    }
    const statuses = await rig.rows('select status, count(*)::int as n from ops.runs group by 1');
    expect(statuses).toEqual([{ status: 'interrupted', n: stopped }]);
    // What they had loaded until then they tell.
    const told = await rig.rows<{
      received: string;
      of_streams: string;
    }>(`select r.run_id, r.received, s.received as of_streams from ops.runs r
      join (select run_id, sum(received) as received from ops.run_streams group by 1) s using (run_id)`);
    expect(told.length).toBeGreaterThan(1);
    for (const run of told) expect(run).toMatchObject({ received: run.of_streams });
    expect(told.some(({ received }) => Number(received) > 0)).toBe(true);
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    // The first was stopped before it began a walk; what the server does not have leaves nothing behind that a later run would go on with.
    await rig.sync();
    const began = rig.events.flatMap((event) => (event.type === 'run.started' ? [event.resumed] : []));
    expect(began).toEqual([false, ...Array.from({ length: stopped }, (_, n) => n > 0), false]);
    expect(await differences(rig, { bare })).toEqual([]);
  });
});

test('slices that are done are not read again after an interruption, but those of sprints that go on: what changed since is in them', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  const { script, log } = rig.tracker;
  const stop = new AbortController();
  const sprintPath = '/rest/agile/1.0/sprint/{id}/issue';
  script.at({ endpoint: sprintPath, nth: 12 }, () => stop.abort(new Interrupted('asked to stop')));
  await expect(rig.sync({}, { signal: stop.signal })).rejects.toThrow(Interrupted);
  const done = await rig.rows<{ id: string }>(
    `select s.partition ->> 'sprint_id' as id from ops.slices s join ops.walks w using (walk_id)
     where w.stream = 'sprint_issues' and w.status = 'open' and s.status = 'done'`,
  );
  expect(done.length).toBeGreaterThan(4);
  const from = log.length;
  await rig.sync();
  const read = log
    .slice(from)
    .flatMap(({ path }) => /^\/rest\/agile\/1.0\/sprint\/(\d+)\/issue$/.exec(path)?.[1] ?? []);
  const twice = read.filter((id) => done.some((one) => one.id === id));
  const over = await rig.rows<{ id: string }>("select id::text from tracker.sprints where state = 'closed'");
  expect(twice.filter((id) => over.some((one) => one.id === id))).toEqual([]);
  expect(twice.length).toBeLessThan(done.length / 2);
  expect(new Set([...read, ...done.map((one) => one.id)]).size).toBe(rig.tracker.oracle().sprints.length);
  expect(await differences(rig)).toEqual([]);
});

test('what was read before a failure stays, and its checkpoint does not move', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract' });
  const rule = rig.tracker.script.at(
    {
      endpoint: '/rest/api/3/search/jql',
      times: Infinity,
      match: (one) => /"startAt":99/.test(JSON.stringify(one.body)),
    },
    status(503),
  );
  const report = await rig.sync({ streams: ['issues'] });
  expect(rule.fired).toBeGreaterThan(1);
  expect(report).toMatchObject({ status: 'failed' });
  expect(await rig.rows('select count(*)::int as n from tracker.issues')).toEqual([{ n: 100 }]);
  expect(await rig.rows('select 1 from ops.checkpoints')).toEqual([]);
  rule.cancel();
  expect(await rig.sync({ streams: ['issues'] })).toMatchObject({
    status: 'succeeded',
    counts: { inserted: 50 },
  });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('owners whose list failed the first time are read when it comes, closed ones too', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract' });
  const rule = rig.tracker.script.at(
    { endpoint: '/rest/agile/1.0/board/{id}/sprint', times: Infinity },
    status(503),
  );
  expect(await rig.sync()).toMatchObject({ status: 'partly_failed' });
  expect(rule.fired).toBeGreaterThan(0);
  rule.cancel();
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});

test('sprints long closed are read again once a week', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  await rig.sync();
  const { state, clock } = rig.tracker;
  const closed = rig.tracker
    .oracle()
    .sprintIssues.find((one) => state.sprints.get(one.sprintId)?.state === 'closed');
  if (closed === undefined) throw new Error('the company has no closed sprint with issues');
  clock.advance(60_000);
  state.update(closed.issueId, { sprintIds: [] });
  await rig.sync();
  expect(await differences(rig)).toEqual([
    `sprint_issues ${closed.sprintId}/${closed.issueId}: should not be there`,
  ]);
  clock.advance(7 * 86_400_000);
  await rig.sync();
  expect(await differences(rig)).toEqual([]);
});
