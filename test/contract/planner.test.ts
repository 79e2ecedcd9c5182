/** What streams cost is kept by run, and what the next night costs is estimated from it. */
import { expect, onTestFinished, test } from 'vitest';
import { startNights } from '../../simulators/demo/nights.ts';
import { readConfig } from '../../src/config/config.ts';
import { shippedPipelines } from '../../src/config/pipeline-files.ts';
import type { Connector } from '../../src/connectors/connector.ts';
import type { RunDeps } from '../../src/engine/context/deps.ts';
import { pastRunsOf } from '../../src/planner/history.ts';
import { leastSeconds, planNight, type Tonight } from '../../src/planner/night.ts';
import type { Ask } from '../../src/runs/ask.ts';
import { execute, planOf, withDeps } from '../../src/runs/run.ts';
import { openAdsRig } from '../support/ads-rig.ts';
import { testDatabase } from '../support/postgres.ts';
import { testRig } from '../support/rig.ts';

test('requests are kept by stream, and add up to those of the run but for the first ones', async () => {
  const rig = await testRig();
  await rig.sync();
  const { requests } = await rig.sync();
  const streams = await rig.rows<{ stream: string; mode: string; requests: number }>(
    `select stream, mode, requests::int from ops.run_streams where run_id = (select max(run_id) from ops.runs)`,
  );
  const sum = streams.reduce((all, stream) => all + stream.requests, 0);
  // Before the streams a run asks for the account, the clock and the dialect.
  expect(requests - sum).toBeGreaterThanOrEqual(1);
  expect(requests - sum).toBeLessThanOrEqual(8);
  expect(streams.find(({ stream }) => stream === 'issues')?.mode).toBe('incremental');
  expect(streams.find(({ stream }) => stream === 'projects')?.mode).toBe('list');
});

test('the preview of a backfill has the requests and hours that a plan has for the same window', async () => {
  const rig = await openAdsRig(
    { accounts: 2, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 20 },
    { reportRequestsPerSecond: 50 },
  );
  onTestFinished(() => rig.close());
  await rig.sync({ streams: ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'] });
  const plan = (ask: Omit<Ask, 'pipeline'>) =>
    rig.during((deps) => planOf({ pipeline: 'ads', ...ask }, deps));
  const costs = (streams: Awaited<ReturnType<typeof plan>>) =>
    streams.map(({ stream, from, to, requests, seconds }) => ({ stream, from, to, requests, seconds }));
  // Nothing was read of any day: the night reads all. Later only a full sync does.
  for (const does of ['sync', 'full'] as const) {
    const night = (await plan({ does })).filter(({ by }) => by === 'days');
    const window = { from: new Date('2015-01-01'), to: new Date('2100-01-01') };
    const preview = await plan({ does: 'backfill', window });
    expect(costs(preview)).toEqual(costs(night));
    expect(leastSeconds(preview)).toBe(leastSeconds(night));
    expect(leastSeconds(night)).toBeGreaterThan(0);
    const basis = does === 'sync' ? 'counts' : 'past runs';
    expect(new Set(preview.map((stream) => stream.basis))).toEqual(new Set([basis]));
    await rig.sync();
  }
});

test('after three nights the requests of the fourth are known within 25 %', async () => {
  const company = await startNights();
  onTestFinished(async () => void (await company.close()));
  const { warehouse, drop } = await testDatabase();
  onTestFinished(drop);
  const config = readConfig(company.environment, import.meta.dirname, await shippedPipelines<Connector>());
  const parts = { config: async () => config, warehouse: async () => warehouse };
  const context = { parts, signal: new AbortController().signal, version: 'test' };
  const silent = { observe: () => undefined, say: () => undefined };
  const during = <T>(pipeline: string, work: (deps: RunDeps) => Promise<T>) =>
    withDeps(context, pipeline, silent, work);
  const pipelines = ['tracker', 'ads', 'workflow'];
  const night = async () => {
    const came = new Map<string, number>();
    for (const pipeline of pipelines) {
      const { report } = await during(pipeline, (deps) => execute({ pipeline, does: 'sync' }, deps));
      expect(report.status, `${pipeline}: ${report.error?.message}`).toBe('succeeded');
      came.set(pipeline, report.requests);
    }
    return came;
  };
  const plan = async () => {
    const tonight: Tonight[] = [];
    for (const pipeline of pipelines) {
      const streams = await during(pipeline, (deps) => planOf({ pipeline, does: 'sync' }, deps));
      const past = await pastRunsOf(warehouse.db, pipeline);
      const how = { due: undefined, isPart: true, perSecond: 0, rotatedBy: 'ROTATE' };
      tonight.push({ pipeline, ...how, streams, past });
    }
    return planNight(tonight, 8, 2);
  };
  for (let nights = 0; nights < 3; nights++) {
    await night();
    company.day();
  }
  const planned = await plan();
  const came = await night();
  for (const { pipeline, requests, unknown } of planned.pipelines) {
    expect(unknown, pipeline).toEqual([]);
    const real = came.get(pipeline) ?? 0;
    expect(Math.abs(requests - real) / real, `${pipeline}: ${requests} for ${real}`).toBeLessThan(0.25);
  }
  // The run kept what was expected of it beside what came.
  for (const { pipeline, lastErrorRatio } of (await plan()).pipelines) {
    expect(lastErrorRatio, pipeline).toBeLessThan(0.25);
  }
}, 600_000);
