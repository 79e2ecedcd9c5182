/** F1 of the guarantees: what HTTP and the servers behind it can do. Each fault is shown to have fired, and the end is the source's truth. */

import { afterEach, describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import * as faults from '../../simulators/shared/faults.ts';
import type { When } from '../../simulators/shared/script.ts';
import { AuthFailed, LockHeld, Unreachable } from '../../src/core/errors.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { hasty, openRig, type Rig, type RigRun } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

const search = '/rest/api/3/search/jql';
const issues = { streams: ['issues'] };
const ofIssues = { issuesOnly: true };

let rig: Rig;
const open = async (options: TrackerOptions = {}): Promise<Rig> => {
  rig = await openRig({ ...smallSite, dialect: 'contract', ...options });
  return rig;
};
afterEach(() => rig.close());

/** The second page of the walk over the issues. */
const secondPage: When = {
  endpoint: search,
  match: ({ body }) => /"startAt":99\b/.test(JSON.stringify(body)),
};
const impatient: RigRun = { http: { ...hasty, timeouts: { headersMs: 400, bodyMs: 400 } } };
const code = async (): Promise<string | undefined> => {
  const rows = await rig.rows<{ error_code: string | null }>(
    `select error_code from ops.slices where status = 'failed' and error_code is not null limit 1`,
  );
  return rows[0]?.error_code ?? undefined;
};
const watermarks = (): Promise<readonly unknown[]> =>
  rig.rows("select 1 from ops.checkpoints where stream = 'issues'");

interface Passing {
  readonly id: string;
  readonly what: string;
  readonly fault: faults.Fault;
  /** How often in a row; default once. */
  readonly times?: number;
  readonly how?: RigRun;
  /** False where the answer counts as it is. */
  readonly retried?: boolean;
}

const passing: readonly Passing[] = [
  { id: 'H1', what: 'a 429 with Retry-After: 1', fault: faults.tooManyRequests(1), retried: false },
  { id: 'H4', what: 'a burst of three times 503', fault: faults.status(503), times: 3 },
  { id: 'H7', what: 'a reset one byte into the body', fault: faults.resetAt(1) },
  { id: 'H8', what: 'a Content-Length larger than the body', fault: faults.longContentLength() },
  { id: 'H11', what: 'truncated JSON', fault: faults.truncatedJson() },
  { id: 'H11', what: 'gzip without its end', fault: faults.truncatedGzip() },
  { id: 'H12', what: 'a body that trickles for ever', fault: faults.trickle(50), how: impatient },
  { id: 'H12', what: 'silence after the headers', fault: faults.silenceAfterHeaders, how: impatient },
  { id: 'H13', what: 'a login page with status 200', fault: faults.htmlPage },
  { id: 'H13', what: 'an empty body with status 200', fault: faults.empty200 },
  { id: 'H14', what: 'JSON under another content type', fault: faults.contentType('text/plain') },
  { id: 'H14', what: 'a byte order mark', fault: faults.byteOrderMark, retried: false },
  {
    id: 'H26',
    what: 'a kept connection that the server drops',
    fault: faults.dropAfterwards,
    retried: false,
  },
];

describe('a fault that passes costs a retry and nothing else', () => {
  test.each(passing)('$id: $what', async ({ fault, times = 1, how = {}, retried = true }) => {
    await open();
    const rule = rig.tracker.script.at({ ...secondPage, times }, fault);
    const report = await rig.sync(issues, how);
    expect(rule.fired).toBe(times);
    expect(rig.tracker.script.fired.map((one) => one.name)).toContain(fault.name);
    expect(report).toMatchObject({ status: 'succeeded', counts: { received: 150, rejected: 0 } });
    if (retried) expect(report.retries).toBe(times);
    expect(await differences(rig, ofIssues)).toEqual([]);
  });
});

test('a list of users that took the vendor too long, which it says by 409, is asked for again', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  const people = rig.tracker.oracle().users.length;
  const rule = rig.tracker.script.at({ endpoint: '/rest/api/3/users/search', times: 2 }, faults.status(409));
  const report = await rig.sync({ streams: ['users'] });
  expect(rule.fired).toBe(2);
  expect(report).toMatchObject({ status: 'succeeded', retries: 2, counts: { inserted: people } });
});

interface Lasting {
  readonly id: string;
  readonly what: string;
  readonly fault: faults.Fault;
  readonly code: string;
  readonly how?: RigRun;
}

const elsewhere = 'http://127.0.0.1:9/elsewhere';
const lasting: readonly Lasting[] = [
  {
    id: 'H3',
    what: '429 with more patience asked for than a run has',
    fault: faults.tooManyRequests(3600),
    code: 'rate_limited',
  },
  { id: 'H4', what: '503 for longer than the retries', fault: faults.status(503), code: 'transient' },
  { id: 'H7', what: 'resets without end', fault: faults.resetAt(2000), code: 'transient' },
  {
    id: 'H11',
    what: 'garbage behind every answer',
    fault: faults.trailingGarbage(),
    code: 'unexpected_content',
  },
  {
    id: 'H12',
    what: 'bodies that trickle for ever',
    fault: faults.trickle(50),
    code: 'transient',
    how: { http: { ...impatient.http, retry: { baseMs: 1, tries: 2 } } },
  },
  { id: 'H13', what: 'a login page instead of the list', fault: faults.htmlPage, code: 'unexpected_content' },
  {
    id: 'H13',
    what: 'an error in a body with status 200',
    fault: faults.errorWith200,
    code: 'unexpected_content',
  },
  { id: 'H13', what: 'empty bodies', fault: faults.empty200, code: 'unexpected_content' },
  {
    id: 'H14',
    what: 'JSON that says it is text',
    fault: faults.contentType('text/plain'),
    code: 'unexpected_content',
  },
  { id: 'H21', what: '413', fault: faults.status(413), code: 'refused' },
  { id: 'H22', what: 'a redirect', fault: faults.redirect(elsewhere, 302), code: 'unexpected_content' },
  { id: 'H23', what: 'a gzip bomb', fault: faults.gzipBomb(300), code: 'page_too_large' },
  {
    id: 'H24',
    what: 'a page beyond the limit',
    fault: faults.hugePage(3 << 20),
    code: 'page_too_large',
    how: { http: { ...hasty, limits: { decodedBytes: 2 << 20, wireBytes: 2 << 20 } } },
  },
];

/** So long (ms) the source asks to be left alone, of what may pass by itself. */
const leaveAloneMs: Readonly<Record<string, number>> = {
  rate_limited: 3_600_000,
  transient: 0,
  unexpected_content: 0,
};

describe('a fault that lasts fails the stream as what it is, keeps what was read, and the next run finishes', () => {
  test.each(lasting)('$id: $what is $code', async ({ fault, code: expected, how = {} }) => {
    await open();
    const rule = rig.tracker.script.at({ ...secondPage, times: Infinity }, fault);
    const before = process.memoryUsage().rss;
    const report = await rig.sync(issues, how);
    expect(rule.fired).toBeGreaterThan(0);
    expect(report).toMatchObject({ status: 'failed', error: { code: 'failed' } });
    expect(await code()).toBe(expected);
    expect(report.passesAfterMs).toBe(leaveAloneMs[expected]);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 << 20);
    // The first page stays, nothing is taken for the end of the list, no checkpoint moves.
    expect(await rig.rows('select count(*)::int as n from tracker.issues where _deleted_at is null')).toEqual(
      [{ n: 100 }],
    );
    expect(await watermarks()).toEqual([]);
    rule.cancel();
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { inserted: 50 } });
    expect(await watermarks()).toHaveLength(1);
    expect(await differences(rig, ofIssues)).toEqual([]);
  });
});

test('H1: after a 429 no request of any endpoint leaves before Retry-After is over', async () => {
  await open();
  const times: { readonly at: number; readonly refused: boolean }[] = [];
  let refused = false;
  rig.tracker.script.at({
    times: Infinity,
    match: () => {
      times.push({ at: performance.now(), refused });
      refused = false;
      return false;
    },
  });
  const rule = rig.tracker.script.at(
    { endpoint: '/rest/agile/1.0/sprint/{id}/issue', nth: 4 },
    () => {
      refused = true;
    },
    faults.tooManyRequests(3),
  );
  const report = await rig.sync();
  expect(rule.fired).toBe(1);
  expect(report.status).toBe('succeeded');
  expect(report.throttledMs).toBeGreaterThanOrEqual(2900);
  // Four were under way at most when the 429 came; then there is a silence of three seconds.
  const gaps = times.slice(1).map((one, place) => one.at - (times[place]?.at ?? 0));
  expect(Math.max(...gaps)).toBeGreaterThanOrEqual(2900);
  expect(await differences(rig)).toEqual([]);
});

test('H3: 429 for ever ends as rate limited when the run’s time is over, and the next run goes on', async () => {
  await open({ embedded: { changelog: 1000, comments: 1000, worklogs: 1000 } });
  const rule = rig.tracker.script.at({ ...secondPage, times: Infinity }, faults.tooManyRequests(600));
  await rig.sync(issues, { deps: { deadlineMs: 3_000 } }).catch(() => undefined);
  expect(rule.fired).toBe(1);
  expect(await rig.rows('select status from ops.runs')).toEqual([{ status: 'failed' }]);
  expect(await rig.rows(`select error_code from ops.slices where status = 'failed'`)).toEqual([
    { error_code: 'rate_limited' },
  ]);
  expect(await rig.rows('select count(*)::int as n from tracker.issues')).toEqual([{ n: 100 }]);
  rule.cancel();
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('H5: a 503 on page 7 keeps what was read and the next run finishes', async () => {
  await open({ issues: 750 });
  const rule = rig.tracker.script.at(
    { endpoint: search, times: Infinity, match: ({ body }) => /"startAt":594\b/.test(JSON.stringify(body)) },
    faults.status(503),
  );
  expect(await rig.sync(issues)).toMatchObject({ status: 'failed' });
  expect(rule.fired).toBeGreaterThan(1);
  // Six pages, neighbours sharing a seam of one.
  expect(await rig.rows('select count(*)::int as n from tracker.issues')).toEqual([{ n: 595 }]);
  rule.cancel();
  // What changed since the first walk began is read once more behind it: that is unchanged, too.
  expect(await rig.sync(issues)).toMatchObject({
    status: 'succeeded',
    counts: { inserted: 155, updated: 0 },
  });
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

test('H16: a 401 in the middle ends the run as what it is; the place is kept', async () => {
  await open();
  const rule = rig.tracker.script.at({ ...secondPage }, faults.unauthorised);
  await expect(rig.sync(issues)).rejects.toThrow(AuthFailed);
  expect(rule.fired).toBe(1);
  expect(await rig.rows('select count(*)::int as n from tracker.issues')).toEqual([{ n: 100 }]);
  expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded', counts: { inserted: 50 } });
  expect(await differences(rig, ofIssues)).toEqual([]);
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

test.each([400, 410] as const)(
  'H20, P14: a page token that expires during a pause (%d) begins the walk anew, once',
  async (expiredToken) => {
    await open({ dialect: 'vendor', tokenLifetimeMs: 60_000, expiredToken });
    const rule = rig.tracker.script.at(
      { endpoint: search, match: ({ body }) => /nextPageToken/.test(JSON.stringify(body)) },
      ({ clock }) => clock.advance(600_000),
    );
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    expect(rule.fired).toBe(1);
    expect(
      rig.tracker.log.filter((one) => one.status === expiredToken && one.endpoint === search),
    ).toHaveLength(1);
    expect(await differences(rig, ofIssues)).toEqual([]);
  },
);

test('H24: a field of 20 MB lands whole', async () => {
  await open({ issues: 20 });
  const [id = ''] = rig.tracker.oracle().issues.keys();
  rig.tracker.state.setRaw(id, 'summary', JSON.stringify('x'.repeat(20 << 20)));
  expect(await rig.sync(issues)).toMatchObject({
    status: 'succeeded',
    counts: { received: 20, rejected: 0 },
  });
  expect(await rig.rows('select length(summary) as n from tracker.issues where id = $1', [id])).toEqual([
    { n: 20 << 20 },
  ]);
});

test('H28: while a page takes longer than the time between heartbeats the lease is kept and no second run begins', async () => {
  await open({ issues: 20 });
  const rule = rig.tracker.script.at({ endpoint: search, nth: 5 }, faults.delay(6_500));
  const beat = async (): Promise<number> => {
    const rows = await rig.rows<{ at: Date | null }>('select heartbeat_at as at from ops.leases');
    return rows[0]?.at?.getTime() ?? 0;
  };
  const running = rig.sync(issues);
  await expect.poll(() => rule.fired, { timeout: 10_000 }).toBe(1);
  const first = await beat();
  await expect(rig.sync(issues)).rejects.toThrow(LockHeld);
  await expect.poll(beat, { timeout: 10_000 }).toBeGreaterThan(first);
  expect(await running).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, ofIssues)).toEqual([]);
});

test('H13: a stream that fails leaves the others alone', async () => {
  await open({ issues: 40 });
  const rule = rig.tracker.script.at({ endpoint: '/rest/api/3/priority', times: Infinity }, faults.htmlPage);
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
