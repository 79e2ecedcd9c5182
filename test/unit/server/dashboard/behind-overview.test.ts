import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silence, status, tooManyRequests } from '../../../../simulators/shared/faults.ts';
import { duration } from '../../../../src/core/format.ts';
import { planNight } from '../../../../src/planner/night.ts';
import type { NightNeeds } from '../../../../src/scheduler/control.ts';
import { openScene, type Scene } from './scene.ts';
import { textOf, type Visitor, visitor } from './visitor.ts';

let scene: Scene;
let person: Visitor;
let beforeAnyRun: string;
let planned: NightNeeds | undefined;
const path = '/pipelines/tracker';
const shown = async (address: string): Promise<string> => textOf((await person.get(address)).body);
const always = { match: () => true, times: Number.POSITIVE_INFINITY };

/** Run 1 is a sync that the source limits once. */
beforeAll(async () => {
  scene = await openScene({
    planned: async (real) => {
      const needs = planned ?? (await real());
      planned = needs;
      return needs;
    },
  });
  person = visitor(scene.app);
  const { rig, control, idle } = scene;
  beforeAnyRun = await shown(path);
  const quota = tooManyRequests(1, { 'ratelimit-reason': 'jira-quota-global-based' });
  const limit = rig.tracker.script.at(
    { match: ({ endpoint }) => endpoint.includes('sprint'), nth: 2 },
    quota,
  );
  await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
  await idle();
  expect(limit.fired).toBe(1);
});
afterAll(() => scene.close());

/** The id of the request that became that run. */
async function requestOf(run: number): Promise<string> {
  const [found] = await scene.rig.rows<{ id: string }>(
    'select dag_run_id as id from ops.dag_run_runs where run_id = $1',
    [run],
  );
  return found?.id ?? '';
}

describe('the page of a run', () => {
  test('tells reading from waiting and from waiting for the rate limit', async () => {
    const { body } = await person.get('/runs/1');
    const label =
      /<title>\w+ ok after [^:]+: reading [\d.]+ s, rate-limited (?!0\.0)[\d.]+ s, waiting [\d.]+ s<\/title>/;
    expect(body).toMatch(label);
    for (const tone of ['going', 'warn', 'none', 'quiet']) expect(body).toContain(`<rect class="${tone}"`);
    const spent = await scene.rig.rows<{ stream: string; fits: boolean; reading: number }>(
      `select stream, reading_seconds as reading,
         reading_seconds + limited_seconds <= extract(epoch from finished_at - started_at) + 0.1 as fits
       from ops.run_streams where run_id = 1`,
    );
    expect(spent.filter(({ fits }) => !fits)).toEqual([]);
    expect(spent.find(({ stream }) => stream === 'issues')?.reading).toBeGreaterThan(0);
  });

  test('draws a stream as it ended where that is not known', async () => {
    await scene.rig.rows(`update ops.run_streams set reading_seconds = null, limited_seconds = null
      where run_id = 1 and stream = 'boards'`);
    const { body } = await person.get('/runs/1');
    expect(body).toMatch(/<title>boards ok after [^:]+<\/title>\s*<rect[^>]*>\s*<rect class="good"/);
  });

  test('of a sync that goes on has its expected end and records, by the syncs before', async () => {
    const { rig, control, idle } = scene;
    await rig.rows(`update ops.runs set started_at = started_at - interval '1 hour' where run_id = 1`);
    const held = rig.tracker.script.at(always, silence);
    const { runId } = await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
    const where = `/requests/tracker/${runId}`;
    await expect.poll(() => held.fired).toBeGreaterThan(0);
    await expect.poll(() => shown(where)).toMatch(/Expected records [\d,]+, by the last syncs/);
    const { body } = await person.get(where);
    const [, end = ''] = /<dt>Expected end<\/dt><dd><time datetime="([^"]+)"/.exec(body) ?? [];
    expect(Date.parse(end) - Date.now()).toBeGreaterThan(59 * 60_000);
    expect(Date.parse(end) - Date.now()).toBeLessThan(61 * 60_000);
    expect(textOf(body)).toContain('No stream has begun yet.');
    rig.tracker.script.clear();
    await control.stop('tracker', { by: 'test' });
    await idle();
    const ended = await shown(where);
    expect(ended).toContain('It ended before a stream began.');
    expect(ended).not.toContain('Expected');
  });

  test('has its log, to be searched by words and level and to be downloaded', async () => {
    const lines = async (query: string): Promise<number> =>
      [...(await person.get(`/runs/1?${query}`)).body.matchAll(/<li><time/g)].length;
    const all = await lines('');
    expect(all).toBeGreaterThan(10);
    const some = await lines('q=ISSUES');
    expect(some).toBeGreaterThan(0);
    expect(some).toBeLessThan(all);
    expect(await lines('level=error')).toBeLessThan(all);
    expect(await shown('/runs/1?q=nothing-like-this')).toContain('No line fits.');
    const id = await requestOf(1);
    const file = await person.get(`/requests/tracker/${id}/log`);
    expect(file.headers['content-disposition']).toBe(`attachment; filename="${id}.log"`);
    expect(file.body.trim().split('\n')).toHaveLength(all);
    expect(file.body).toMatch(/^\S+Z info taken by /);
    expect((await person.get('/requests/tracker/none/log')).status).toBe(404);
  });

  test('of a terminal has when its streams began and ended', async () => {
    const { rig } = scene;
    rig.tracker.script.at({ ...always, match: ({ endpoint }) => endpoint.includes('project') }, status(500));
    await rig.sync({ streams: ['projects'] }).catch(() => undefined);
    rig.tracker.script.clear();
    const [run] = await rig.rows<{ id: string }>(
      `select max(run_id)::text as id from ops.runs where trigger = 'manual'`,
    );
    const text = await shown(`/runs/${run?.id}`);
    expect(text).toContain('The terminal has the whole log of this run.');
    expect(text).toMatch(
      /tracker: run \d+ \(sync\) started .* tracker\.projects started .* error tracker\.projects failed: 0 records received; .*500/,
    );
    const file = await person.get(`/requests/tracker/manual-${run?.id}/log`);
    expect(file.body).toMatch(/^\S+Z info tracker: run \d+ \(sync\) started\n/);
    expect(file.body.trim().split('\n')).toHaveLength(4);
  });

  test('leads to its retry and back', async () => {
    const { rig, control, idle } = scene;
    rig.tracker.script.at(always, status(401));
    const { runId } = await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
    await idle();
    const failed = `/requests/tracker/${runId}`;
    const retried = (await person.send(failed, `${failed}/retry`)).headers.location ?? '';
    await idle();
    rig.tracker.script.clear();
    expect(await shown(failed)).toContain(`Its retry ${retried.split('/').at(-1)}`);
    expect(await shown(retried)).toContain(`Retry of ${runId}`);
  });
});

describe('the page of a pipeline', () => {
  test('says that it never ran, and of one that is not configured that no run can start', async () => {
    expect(beforeAnyRun).toMatch(/What happened Nothing yet\./);
    const ads = await person.get('/pipelines/ads');
    expect(textOf(ads.body)).toContain('It is not configured: no run of it can start here.');
    expect(ads.body).not.toContain('formaction="/pipelines/ads');
    expect(textOf(ads.body)).toContain('It has no schedule');
    expect(await shown('/pipelines/nightly')).toMatch(/What happened Nothing yet\./);
    expect((await person.get('/pipelines/none')).status).toBe(404);
  });

  test('has its next five times, its streams, and the way to its settings', async () => {
    const { body } = await person.get(path);
    const [, syncs = ''] = /<dt>sync · 0 2 \* \* \* · UTC<\/dt><dd>(.*?)<\/dd>/.exec(body) ?? [];
    const times = [...syncs.matchAll(/datetime="([^"]+)"/g)].map(([, time = '']) => Date.parse(time));
    const next = Math.ceil((Date.now() - 7_200_000) / 86_400_000) * 86_400_000 + 7_200_000;
    expect(times).toEqual([0, 1, 2, 3, 4].map((day) => next + day * 86_400_000));
    expect(body).toContain('href="/streams/tracker/issues"');
    expect(body).toContain('href="/settings"');
  });

  test('tells what happened: runs, deletions, and fields and settings that changed', async () => {
    const { rig } = scene;
    for (const value of ['A', 'B', 'B']) {
      const shown = [{ name: 'TRACKER_JQL', value: `project = ${value}`, from: '.env' }];
      const known = { shown, pipelines: [{ pipeline: 'tracker', names: ['TRACKER_JQL'] }] };
      await rig.rows('select ops.note_settings($1::jsonb)', [JSON.stringify(known)]);
    }
    await rig.rows(
      `insert into ops.schema_changes (source_id, stream, note, run_id) values (1, 'issues', 'votes is new', 1)`,
    );
    await rig.rows(`update ops.run_streams set deleted = 3 where run_id = 1 and stream = 'boards'`);
    const text = await shown(path);
    expect(text.match(/setting changed/g)).toHaveLength(1);
    expect(text).toMatch(/setting changed TRACKER_JQL – – – project = A → project = B/);
    expect(text).toMatch(/fields changed issues – – 1 votes is new/);
    expect(text).toMatch(/deletion boards ● ok 3 1/);
    expect(text).toMatch(/sync – ● succeeded \d+ 1 /);
  });

  test('starts a full sync and a reconcile, and shows what runs', async () => {
    const { rig, control, idle, asked } = scene;
    rig.tracker.script.at(always, silence);
    for (const does of ['full', 'reconcile']) {
      const started = await person.send(path, `${path}/${does}`);
      expect(started.headers.location).toMatch(new RegExp(`^/requests/tracker/tracker-${does}-`));
      const { body } = await person.get(path);
      expect(body).toContain(`href="${started.headers.location}">tracker ${does}</a>`);
      expect(body).toMatch(/formaction="\/pipelines\/tracker\/reconcile" disabled/);
      expect(body).not.toContain('formaction="/pipelines/tracker/full"');
      expect(body).toContain(`formaction="${started.headers.location}/stop"`);
      await control.stop('tracker', { by: 'test' });
      await idle();
    }
    rig.tracker.script.clear();
    expect((await asked()).slice(-2)).toEqual([
      'tracker full by dashboard',
      'tracker reconcile by dashboard',
    ]);
  });

  test('is linked from the runs and from each run', async () => {
    for (const from of ['/runs', '/runs/1'])
      expect((await person.get(from)).body).toContain(`href="${path}"`);
  });
});

describe('the plan of a backfill', () => {
  const query = 'plan=1&pipeline=tracker&from=2026-01-01&to=2026-02-01';
  /** The page of a dashboard that has not planned yet, with the sync of tonight at that rate. */
  const shownAt = async (perSecond: number): Promise<string> => {
    planned = { at: new Date(), failed: [], atOnce: 1, tonight: [{ ...tonight(), perSecond }] };
    return textOf((await visitor(await scene.beside({})).get(`/backfill?${query}`)).body);
  };
  const tonight = (): NightNeeds['tonight'][number] => {
    const own = planned?.tonight[0];
    if (own === undefined) throw new Error('nothing is planned');
    return own;
  };

  test('takes what the planner says of the whole pipeline, by its rate', async () => {
    expect(await shown(`/backfill?${query}`)).toMatch(/It fits into a night of 8 h beside the sync of /);
    const window = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-02-01T00:00:00Z') };
    const ask = { pipeline: 'tracker', does: 'backfill', window } as const;
    const streams = await scene.control.plan(ask, new AbortController().signal);
    const perSecond = 0.0001;
    const [plan] = planNight([{ ...tonight(), streams, perSecond }], 8, 1).pipelines;
    expect(plan?.limit).toBe('limit of all requests: 0.0001 a second');
    const text = await shownAt(perSecond);
    expect(text).toContain(
      `about ${plan?.requests} requests, at least ${duration(plan?.seconds ?? 0)} (${plan?.limit})`,
    );
  });

  test('says whether it fits beside the sync, and else what helps', async () => {
    const { requests } = planNight([tonight()], 8, 1).pipelines[0] ?? { requests: 0 };
    const night = 8 * 3600;
    expect(await shownAt(requests / (night * 2))).toContain(
      'does not fit into a night of 8 h beside the sync of 16 h. Run it by day.',
    );
    expect(await shownAt(requests / (night * 0.9))).toMatch(
      /does not fit into a night .* Divide the window into \d+ parts, one a night\./,
    );
    planned = { at: new Date(), failed: [], atOnce: 1, tonight: [] };
    const text = textOf((await visitor(await scene.beside({})).get(`/backfill?${query}`)).body);
    expect(text).toContain('What the pipeline needs tonight is not known yet.');
  });
});
