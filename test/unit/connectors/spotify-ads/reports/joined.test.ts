import { afterEach, expect, test } from 'vitest';
import { csvLines } from '../../../../../simulators/spotify-ads/csv.ts';
import { Interrupted } from '../../../../../src/core/errors.ts';
import { type AdsRig, openAdsRig } from '../../../../support/ads-rig.ts';
import * as play from '../../../../support/misbehaving-server.ts';
import { csvFile } from './csv-platform.ts';

let rig: AdsRig;
afterEach(async () => {
  expect(rig.platform.errors).toEqual([]);
  expect(rig.platform.storage.leaked).toEqual([]);
  await rig.close();
});

const streams = ['businesses', 'ad_accounts', 'async_reports'];
const small = { dialect: 'vendor', accounts: 1, campaigns: 1, days: 20 } as const;
const rows = async (): Promise<readonly string[]> =>
  (
    await rig.rows<{ line: string }>(
      `select concat_ws('|', day, campaign_name, ad_set_name, ad_name, spend, impressions) as line from ads.report_csv order by 1`,
    )
  ).map(({ line }) => line);

test('a report without a required column, or cut short, fails its slice; the rows before it stay', async () => {
  rig = await openAdsRig({ ...small, csv: { polls: 0 } });
  await rig.sync({ streams });
  const before = await rows();
  const { spoiling, downloads } = rig.platform.storage;
  for (const fault of [{ without: 'SPEND' }, { truncated: 30 }]) {
    Object.assign(spoiling, { without: undefined, truncated: undefined }, fault);
    const report = await rig.sync({ streams, full: true });
    expect(report.streams.at(-1)).toMatchObject({ stream: 'async_reports', status: 'failed' });
    expect(await rows()).toEqual(before);
  }
  expect(rig.platform.storage.downloads).toBeGreaterThan(downloads + 1);
  delete spoiling.without;
  delete spoiling.truncated;
  expect((await rig.sync({ streams })).status).toBe('succeeded');
  expect(await rows()).toEqual(before);
});

/** A rig whose first run was stopped while the platform made its first report. */
async function stoppedWhileMade(): Promise<void> {
  rig = await openAdsRig({ ...small, csv: { polls: 1 } });
  const stop = new AbortController();
  const stopped = rig.sync({ streams }, { signal: stop.signal });
  await expect.poll(() => rig.rows(`select status from ops.jobs`)).toEqual([{ status: 'submitted' }]);
  stop.abort(new Interrupted('asked to stop'));
  await stopped.catch(() => undefined);
}

test('a report that was being made when the run was stopped is adopted by the next, not created again', async () => {
  await stoppedWhileMade();
  expect(await rows()).toEqual([]);
  expect((await rig.sync({ streams })).status).toBe('succeeded');
  expect(await rig.rows('select remote_id, attempt, status from ops.jobs order by job_id')).toEqual(
    [...rig.platform.storage.jobs.keys()].map((remote_id) => ({ remote_id, attempt: 1, status: 'ready' })),
  );
  expect(rig.platform.storage.jobs.size).toBe(1);
  expect((await rows()).length).toBeGreaterThan(20);
});

test('a report that was asked for before its days were read anew is not adopted: it would bring back what they were then', async () => {
  await stoppedWhileMade();
  const { platform } = rig;
  const [old] = platform.storage.jobs.values();
  if (old === undefined) throw new Error('there is no job');
  const file = csvFile(`${[...csvLines(platform.state, old, 1, {})].join('\n')}\n`);
  const frozen = await play.misbehaving(() => file);
  const { addressOf } = platform.storage;
  platform.storage.addressOf = (job) => (job.id === old.id ? `${frozen.url}/then.csv` : addressOf(job));
  const settings = { reportHosts: [platform.storage.origin, frozen.url].map((url) => new URL(url).host) };

  const [ad = ''] = platform.state.ads.keys();
  platform.state.correct(ad, '2026-06-20', { spend: 5_000_000_000_000n });
  const days = { from: new Date('2026-06-15T00:00:00Z'), to: new Date('2026-06-25T00:00:00Z') };
  const restated = () => rig.rows(`select day::text from ads.report_csv where spend > 5000000`);
  expect((await rig.backfill({ streams: ['async_reports'], ...days }, { settings })).status).toBe(
    'succeeded',
  );
  expect(await restated()).toEqual([{ day: '2026-06-20' }]);
  expect((await rig.sync({ streams }, { settings })).status).toBe('succeeded');
  expect(await restated()).toEqual([{ day: '2026-06-20' }]);
  expect(await rig.rows(`select reason from ops.jobs where status = 'abandoned'`)).toHaveLength(1);
  await frozen.close();
});
