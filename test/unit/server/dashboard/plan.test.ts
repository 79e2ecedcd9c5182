/** The page that says what runs tonight, and whether it fits. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { estimated } from '../../../../src/planner/estimate.ts';
import { planNight } from '../../../../src/planner/night.ts';
import { execute } from '../../../../src/runs/run.ts';
import type { NightNeeds } from '../../../../src/scheduler/control.ts';
import { insightsOfMany } from '../../../support/many-accounts.ts';
import { openScene, type Scene } from './scene.ts';
import { textOf, visitor } from './visitor.ts';

let scene: Scene;
let needs: (real: () => Promise<NightNeeds>) => Promise<NightNeeds>;

beforeAll(async () => {
  scene = await openScene({ planned: (real) => needs(real) });
});
afterAll(() => scene.close());

/** The page of a dashboard that has not planned yet. */
const shown = async (path = '/plan') => textOf((await visitor(await scene.beside({})).get(path)).body);

const tooMuch: NightNeeds = {
  at: new Date(),
  atOnce: 2,
  failed: [{ pipeline: 'workflow', error: new Error('the source does not answer') }],
  tonight: [
    {
      pipeline: 'ads',
      due: new Date('2026-01-02T02:00:00Z'),
      isPart: true,
      perSecond: 0,
      rotatedBy: 'ADS_ROTATE',
      streams: [estimated(insightsOfMany, [])],
      past: undefined,
    },
  ],
};

test('before the first night the page says so, and shows what the sources count', async () => {
  needs = (real) => real();
  const text = await shown();
  expect(text).toContain('○ It fits into the night of 8 h, as far as it is known.');
  expect(text).toContain('No night has run yet: only what the sources can count is known.');
  expect(text).toMatch(/Nights before No night has run yet\./);
  expect(text).toMatch(/tracker\. issues full \d+ \d+/);
});

test('the page has the numbers of the planner: what runs when, how long it takes, by which limit', async () => {
  for (let night = 0; night < 3; night++)
    await scene.rig.during((deps) => execute({ pipeline: 'tracker', does: 'sync' }, deps));
  let planned: NightNeeds | undefined;
  needs = async (real) => {
    planned = await real();
    return planned;
  };
  const text = await shown();
  const night = planNight(planned?.tonight ?? [], 8, 2);
  const [tracker] = night.pipelines;
  expect(tracker?.requests).toBeGreaterThan(0);
  expect(text).toContain('It fits into the night of 8 h, as far as it is known.');
  expect(text).toContain(`${tracker?.at?.toISOString().slice(0, 16).replace('T', ' ')} ${tracker?.requests}`);
  expect(text).toContain(tracker?.limit);
  for (const { stream, mode, slices } of tracker?.streams ?? [])
    expect(text).toContain(`tracker. ${stream} ${mode.replace('-', ' ')} ${slices}`);
  expect(text).not.toContain('No night has run yet');
});

test('what was estimated for the nights before is shown beside what came', async () => {
  const [sums] = await scene.rig.rows<{ came: number; estimated: number }>(
    `select sum(requests)::int as came, sum(estimated_requests)::int as estimated
     from ops.run_streams where estimated_requests is not null`,
  );
  const { came = 0, estimated: expected = 0 } = sums ?? {};
  expect(came).toBeGreaterThan(0);
  const off = Math.round((Math.abs(expected - came) / came) * 100);
  const today = new Date().toISOString().slice(0, 10);
  expect(await shown()).toContain(`${today} ${expected} ${came} ${off} % off`);
});

test('a night that is too short says what does not fit and what helps, and names a pipeline without a plan', async () => {
  needs = async () => tooMuch;
  const text = await shown('/plan?hours=2');
  expect(text).toContain('▲ It does not fit into the night.');
  for (const finding of planNight(tooMuch.tonight, 2, 2).findings) expect(text).toContain(finding);
  expect(text).toContain('insights of 100 ad accounts need 3 h 20 m at 5 requests a second.');
  expect(text).toContain('workflow cannot be planned: the source does not answer');
  expect(await shown('/plan?hours=4')).toContain('It fits into the night of 4 h');
  expect(await shown('/plan?hours=no')).toContain('It fits into the night of 8 h');
});

test('readers share one plan, and do not wait for sources that are slow', async () => {
  let asked = 0;
  const slow = Promise.withResolvers<NightNeeds>();
  needs = () => {
    asked += 1;
    return slow.promise;
  };
  const person = visitor(await scene.beside({}));
  const pages = await Promise.all([person.get('/plan'), person.get('/plan')]);
  for (const { status, body } of pages) {
    expect(status).toBe(200);
    expect(textOf(body)).toContain('The sources are being asked for their clocks and counts');
    expect(body).toContain('data-going');
  }
  slow.resolve(tooMuch);
  await expect.poll(async () => textOf((await person.get('/plan')).body)).toContain('Plan of the night');
  expect(textOf((await person.get('/plan')).body)).toContain('insights');
  expect(asked).toBe(1);
}, 30_000);

test('the overview leads to the plan', async () => {
  const { body } = await visitor(scene.app).get('/');
  expect(body).toContain('<a href="/plan">does it fit?</a>');
  expect(textOf(body)).toContain('Overview Streams Runs Plan Backfill');
});
