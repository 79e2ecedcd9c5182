/**
 * Long histories, of many issues at once: `POST /rest/api/3/changelog/bulkfetch` of the vendor's OpenAPI, at most 1000 issues a call, pages by
 * token. What it does not give is read issue by issue, as where a server does not have it.
 */

import { beforeAll, expect, test } from 'vitest';
import { type Fault, shortPage, status } from '../../../simulators/shared/faults.ts';
import { differences } from '../../support/oracle.ts';
import { openRig, type Rig, testRig } from '../../support/rig.ts';
import { smallSite } from '../../support/small-site.ts';

const endpoint = '/rest/api/3/changelog/bulkfetch';
const always = { endpoint, times: Number.POSITIVE_INFINITY };
const site = { ...smallSite, dialect: 'vendor', longEvery: 10, embedded: { changelog: 5 } } as const;

const sync = async (rig: Rig) => {
  const from = rig.tracker.log.length;
  const report = await rig.sync({ streams: ['issues'] });
  const paths = rig.tracker.log.slice(from).map(({ path }) => path);
  return {
    report,
    bulk: paths.filter((path) => path === endpoint).length,
    single: paths.filter((path) => /\/issue\/\d+\/changelog$/.test(path)).length,
  };
};
const stored = (rig: Rig) =>
  rig.rows(`select array_agg(to_jsonb(c) - '{_synced_at,_run_id}'::text[] order by history_id, item) as changes,
      (select array_agg(to_jsonb(k) - '{_synced_at,_run_id}'::text[] order by key) from tracker.issue_keys k) as keys
    from tracker.issue_changelog c`);

/** What lists of single issues give, as of a server without the endpoint. */
let expected: unknown;
let requests: number;
beforeAll(async () => {
  const rig = await openRig(site);
  rig.tracker.script.at(always, status(404));
  const { report, bulk, single } = await sync(rig);
  expect(report.status).toBe('succeeded');
  expect(bulk).toBe(1);
  expect(single).toBeGreaterThan(50);
  requests = single;
  expected = await stored(rig);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  return () => rig.close();
});

test('histories of many issues at once are those of single issues, with a tenth of the requests', async () => {
  const rig = await testRig(site);
  const { report, bulk, single } = await sync(rig);
  expect(report.status).toBe('succeeded');
  expect(single).toBe(0);
  expect(bulk).toBeLessThanOrEqual(requests / 10);
  expect(await stored(rig)).toEqual(expected);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  // What has not changed is not asked for again.
  expect(await sync(rig)).toMatchObject({ bulk: 0, single: 0 });
});

test('pages of histories join, wherever an issue is cut', async () => {
  const rig = await testRig(site);
  const cut = rig.tracker.script.at(always, shortPage(150));
  expect(await sync(rig)).toMatchObject({ single: 0, report: { status: 'succeeded' } });
  expect(cut.fired).toBeGreaterThan(5);
  expect(await stored(rig)).toEqual(expected);
});

type History = Readonly<Record<string, unknown>> & { readonly created: string };
type Log = { readonly issueId: string; readonly changeHistories: readonly History[] };
const changed = (change: (log: Log, index: number) => readonly Log[]): Fault => ({
  name: 'changed histories',
  answer: (answer) => {
    const body = JSON.parse(answer.body.toString()) as { issueChangeLogs: readonly Log[] };
    const issueChangeLogs = body.issueChangeLogs.flatMap(change);
    return { ...answer, body: Buffer.from(JSON.stringify({ ...body, issueChangeLogs })) };
  },
});
const withCreated = (created: (at: number) => unknown): Fault =>
  changed((log) => [
    {
      ...log,
      changeHistories: log.changeHistories.map((one) => ({
        ...one,
        created: created(Date.parse(one.created.replace(/(\d\d)(\d\d)$/, '$1:$2'))) as string,
      })),
    },
  ]);

// The vendor's example has 1492070429; recorded answers have text.
test.each([
  ['seconds', (at: number) => Math.floor(at / 1000), 'date_trunc($$second$$, changed_at)'],
  ['milliseconds', (at: number) => at, 'changed_at'],
] as const)('instants of changes may be numbers of %s', async (_, written, exact) => {
  const rig = await testRig(site);
  const other = await testRig(site);
  await sync(other);
  const numbers = rig.tracker.script.at(always, withCreated(written));
  expect(await sync(rig)).toMatchObject({ single: 0, report: { status: 'succeeded' } });
  expect(numbers.fired).toBeGreaterThan(0);
  const at = (of: Rig) =>
    of.rows(`select history_id, item, ${exact.replaceAll('$$', "'")} as changed_at from tracker.issue_changelog
      where issue_id in (select issue_id from tracker.issue_changelog group by 1 having count(*) > 100) order by 1, 2`);
  expect(await at(rig)).toEqual(await at(other));
});

test('an issue that lacks a change, or is left out, is read by its own list', async () => {
  const rig = await testRig(site);
  const lacking = rig.tracker.script.at(
    always,
    changed((log, index) => {
      if (index % 3 === 0) return [];
      return index % 3 === 1 ? [{ ...log, changeHistories: log.changeHistories.slice(1) }] : [log];
    }),
  );
  const { report, single } = await sync(rig);
  expect(report.status).toBe('succeeded');
  expect(lacking.fired).toBeGreaterThan(0);
  expect(single).toBeGreaterThan(0);
  expect(await stored(rig)).toEqual(expected);
});

test.each([
  ['forbids it', status(403)],
  ['refuses what it is asked', status(400)],
  ['has it no more', status(410)],
  ['cannot make it in time', status(504)],
])('a server that %s is asked for the lists of single issues', async (_, fault) => {
  const rig = await testRig(site);
  const refused = rig.tracker.script.at(always, fault);
  const { report, single } = await sync(rig);
  expect(report.status).toBe('succeeded');
  expect(refused.fired).toBeGreaterThan(0);
  expect(single).toBe(requests);
  expect(rig.events).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('lists are requested one by one') }),
  );
  expect(await stored(rig)).toEqual(expected);
});
