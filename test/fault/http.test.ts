/** F1 of the guarantees: faults of HTTP and of servers. Each fault is shown to have fired, and the warehouse equals the source at the end. */

import { expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import * as faults from '../../simulators/shared/faults.ts';
import type { When } from '../../simulators/shared/script.ts';
import { AuthFailed, Unreachable } from '../../src/core/errors.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { hasty, type Rig, type RigRun, testRig } from '../support/rig.ts';

const search = '/rest/api/3/search/jql';
const issues = { streams: ['issues'] };
const ofIssues = { issuesOnly: true };

let rig: Rig;
const open = async (options: TrackerOptions = {}): Promise<void> => {
  rig = await testRig({ dialect: 'contract', ...options });
};

/** The second page of the walk over the issues. */
const secondPage: When = {
  endpoint: search,
  match: ({ body }) => /"startAt":99\b/.test(JSON.stringify(body)),
};
const impatient: RigRun = { http: { ...hasty, timeouts: { headersMs: 400, bodyMs: 400 } } };
const twice: RigRun = { http: { ...impatient.http, retry: { baseMs: 1, tries: 2 } } };
const narrow: RigRun = { http: { ...hasty, limits: { decodedBytes: 2 << 20, wireBytes: 2 << 20 } } };
const failedCodes = (): Promise<readonly unknown[]> =>
  rig.rows(`select distinct error_code from ops.slices where status = 'failed'`);

/** The walk over the issues, in pages of ten. */
const inSmallPages = (): When => {
  const walk: When = { endpoint: search, match: ({ body }) => /"summary"/.test(JSON.stringify(body)) };
  rig.tracker.script.at({ ...walk, times: Infinity }, faults.loweredMaxResults(10));
  return walk;
};

/** Each fault and how many tries it costs. */
const passing: readonly (readonly [what: string, fault: faults.Fault, tries?: number])[] = [
  ['H1: a 429 with Retry-After: 1', faults.tooManyRequests(1), 0],
  ['H4: 503', faults.status(503)],
  ['H7: a reset one byte into the body', faults.resetAt(1)],
  ['H8: a Content-Length larger than the body', faults.longContentLength()],
  ['H11: truncated JSON', faults.truncatedJson()],
  ['H11: gzip without its end', faults.truncatedGzip()],
  ['H13: a login page with status 200', faults.htmlPage],
  ['H13: an empty body with status 200', faults.empty200],
  ['H14: JSON under another content type', faults.contentType('text/plain')],
  ['H14: a byte order mark', faults.byteOrderMark, 0],
  // The next request may find the connection open still.
  ['H26: a kept connection that the server drops', faults.dropAfterwards, 0],
];
const stalling = [
  ['H12: a body that trickles for ever', faults.trickle(50)],
  ['H12: silence after the headers', faults.silenceAfterHeaders],
] as const;

test.each([
  ['faults of servers', passing, {}],
  ['stalled answers', stalling, impatient],
] as const)('%s that pass cost retries and nothing else', async (_, some, how) => {
  await open();
  const walk = inSmallPages();
  // Every other request of the walk meets one of them.
  const rules = some.map(([, fault], at) => rig.tracker.script.at({ ...walk, nth: 2 * (at + 1) }, fault));
  const report = await rig.sync(issues, how);
  for (const [at, [what]] of some.entries()) expect(rules[at]?.fired, what).toBe(1);
  expect(report).toMatchObject({ status: 'succeeded', counts: { received: 150, rejected: 0 } });
  const retries = some.reduce((sum, [, , tries = 1]) => sum + tries, 0);
  expect(report.retries - retries).toBeOneOf([0, 1]);
  if (some === passing) expect(report.throttledMs).toBeGreaterThanOrEqual(900);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('a list of users that is refused by 409, as it took the vendor too long, is read again', async () => {
  await open({ dialect: 'vendor' });
  const people = rig.tracker.oracle().users.length;
  const rule = rig.tracker.script.at({ endpoint: '/rest/api/3/users/search', times: 2 }, faults.status(409));
  const report = await rig.sync({ streams: ['users'] });
  expect(rule.fired).toBe(2);
  expect(report).toMatchObject({ status: 'succeeded', retries: 2, counts: { inserted: people } });
});

/** Each fault, the code of its error, and how it is met. */
const lasting: readonly (readonly [what: string, fault: faults.Fault, code: string, how?: RigRun])[] = [
  ['H3: a 429 that asks for an hour', faults.tooManyRequests(3600), 'rate_limited'],
  ['H4: 503 for longer than the retries', faults.status(503), 'transient'],
  ['H7: resets without end', faults.resetAt(2000), 'transient'],
  ['H11: garbage after every answer', faults.trailingGarbage(), 'unexpected_content'],
  ['H12: bodies that trickle for ever', faults.trickle(50), 'transient', twice],
  ['H13: a login page instead of the list', faults.htmlPage, 'unexpected_content'],
  ['H13: an error in a body with status 200', faults.errorWith200, 'unexpected_content'],
  ['H13: empty bodies', faults.empty200, 'unexpected_content'],
  ['H14: JSON that says it is text', faults.contentType('text/plain'), 'unexpected_content'],
  ['H21: 413', faults.status(413), 'refused'],
  ['H22: a redirect', faults.redirect('http://127.0.0.1:9/elsewhere', 302), 'unexpected_content'],
  ['H23: a gzip bomb', faults.gzipBomb(300), 'page_too_large'],
  ['H24: a page beyond the limit', faults.hugePage(3 << 20), 'page_too_large', narrow],
];

/** How long (ms) the source asks to be left alone, for errors that may pass by themselves. */
const leaveAloneMs: Readonly<Record<string, number>> = {
  rate_limited: 3_600_000,
  transient: 0,
  unexpected_content: 0,
};

test('faults that last fail the stream under their own name, keep what was read, and the next run finishes', async () => {
  await open({ embedded: { changelog: 1000, comments: 1000, worklogs: 1000 } });
  /** A run that meets the fault on its second page. The first page stays; nothing is taken for the end of the list. */
  const meet = async (what: string, fault: faults.Fault, run: () => Promise<unknown>): Promise<void> => {
    const rule = rig.tracker.script.at({ ...secondPage, times: Infinity }, fault);
    await run();
    expect(rule.fired, what).toBeGreaterThan(0);
    rule.cancel();
    // Besides the page, later runs have read what changed since the first one began.
    const left = `select (select count(*) from tracker.issues where _deleted_at is null) between 100 and 149
      and not exists (select 1 from ops.checkpoints) as partial`;
    expect(await rig.rows(left), what).toEqual([{ partial: true }]);
  };
  for (const [what, fault, code, how = {}] of lasting)
    await meet(what, fault, async () => {
      const before = process.memoryUsage().rss;
      const report = await rig.sync(issues, how);
      expect(report, what).toMatchObject({ status: 'failed', error: { code: 'failed' } });
      expect(await failedCodes(), what).toEqual([{ error_code: code }]);
      expect(report.passesAfterMs, what).toBe(leaveAloneMs[code]);
      expect(process.memoryUsage().rss - before, what).toBeLessThan(256 << 20);
    });
  await meet('H16: 401', faults.unauthorised, async () => {
    // The account is accepted when the run begins, and not any more after the page.
    const myself = { endpoint: '/rest/api/3/myself', nth: 2, times: Infinity };
    const expired = rig.tracker.script.at(myself, faults.unauthorised);
    await expect(rig.sync(issues)).rejects.toThrow(AuthFailed);
    expect(expired.fired).toBeGreaterThan(0);
    expired.cancel();
  });
  await meet('H3: 429 until the time of the run is over', faults.tooManyRequests(600), async () => {
    await rig.sync(issues, { deps: { deadlineMs: 3_000 } }).catch(() => undefined);
    expect(await rig.rows('select status from ops.runs order by run_id desc limit 1')).toEqual([
      { status: 'failed' },
    ]);
    expect(await failedCodes()).toEqual([{ error_code: 'rate_limited' }]);
  });
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select 1 from ops.checkpoints')).toHaveLength(1);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('H6: a refused connection and a name that does not resolve are Unreachable; nothing is written', async () => {
  await open({ issues: 20 });
  await rig.sync(issues);
  const before = await fingerprint(rig);
  for (const baseUrl of ['http://127.0.0.1:9', 'http://tracker.invalid']) {
    await expect(rig.sync({}, { settings: { baseUrl } })).rejects.toThrow(Unreachable);
    await expect(rig.reconcile({}, { settings: { baseUrl } })).rejects.toThrow(Unreachable);
  }
  expect(await fingerprint(rig)).toEqual(before);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
});

test('H18: an issue that is deleted between its listing and the request for the rest of its lists fails nothing', async () => {
  await open({ embedded: { changelog: 3, comments: 1, worklogs: 1 } });
  const gone = new Set<string>();
  const rule = rig.tracker.script.at(
    { endpoint: '/rest/api/3/issue/{id}/changelog', nth: 2, times: 2 },
    ({ state, request }) => {
      const id = request.path.split('/').at(-2) ?? '';
      state.delete(id);
      gone.add(id);
    },
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(rule.fired).toBe(2);
  expect(await rig.rows('select 1 from tracker.issues where _deleted_at is not null')).toEqual([]);
  expect(await differences(rig, { ...ofIssues, deletedMayLive: true })).toEqual([]);
  expect(await rig.reconcile(issues)).toMatchObject({ status: 'succeeded', deleted: gone.size });
});

test('H20, P14: a page token that expires during a pause begins the walk anew, once', async () => {
  await open({ dialect: 'vendor', tokenLifetimeMs: 60_000, expiredToken: 410 });
  const rule = rig.tracker.script.at(
    { endpoint: search, match: ({ body }) => /nextPageToken/.test(JSON.stringify(body)) },
    ({ clock }) => clock.advance(600_000),
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(rule.fired).toBe(1);
  expect(rig.tracker.log.filter((one) => one.status === 410 && one.endpoint === search)).toHaveLength(1);
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('H24: a field of 8 MB lands whole', async () => {
  await open({ issues: 2 });
  const [id = ''] = rig.tracker.oracle().issues.keys();
  rig.tracker.state.setRaw(id, 'summary', JSON.stringify('x'.repeat(8 << 20)));
  expect(await rig.sync(issues)).toMatchObject({
    status: 'succeeded',
    counts: { received: 2, rejected: 0 },
  });
  expect(await rig.rows('select length(summary) as n from tracker.issues where id = $1', [id])).toEqual([
    { n: 8 << 20 },
  ]);
});

test('H13: a stream that fails leaves the others alone', async () => {
  await open({ issues: 5, projects: 1, users: 5 });
  const rule = rig.tracker.script.at(
    { endpoint: '/rest/api/3/priorityscheme', times: Infinity },
    faults.htmlPage,
  );
  const report = await rig.sync();
  expect(rule.fired).toBeGreaterThan(0);
  expect(report).toMatchObject({ status: 'partly_failed' });
  expect(report.streams.filter((one) => one.status !== 'ok').map((one) => one.stream)).toEqual([
    'priorities',
  ]);
  rule.cancel();
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
});
