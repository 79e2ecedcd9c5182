/** The ads platform's stages: what is run, and what must hold of its warehouse. */

import { type AdsOptions, type AdsSimulator, startAds } from '../../simulators/spotify-ads/server.ts';
import { adsDifferences, adsHalves } from '../support/ads-compared.ts';
import { adsBooks, type Before, beforeOf } from '../support/ads-history.ts';
import { type Cells, type Picture, pictureOf } from '../support/ads-picture.ts';
import { testDatabase } from '../support/postgres.ts';
import { adsEnvironment } from '../support/tidemark.ts';
import { claimed, closedBooks, countsHold, isThere, movedTo, type Rows } from './books.ts';
import { copiesOf, ran, type Stage } from './stage.ts';

const day = 86_400_000;

/** Everything is in it: lists of all kinds, drafts, four levels of numbers, a CSV report that is ready when it is looked after. */
const smallest = {
  seed: 7,
  accounts: 1,
  campaigns: 2,
  adSetsPerCampaign: 1,
  adsPerAdSet: 2,
  days: 10,
  now: new Date('2026-06-30T02:00:00Z'),
  csv: { polls: 0 },
} as const satisfies AdsOptions;

/** The first sync into a warehouse whose schema is there. */
export const firstSync = (options: AdsOptions): Promise<Stage> => staged(options);

/** A day later: numbers were restated, things archived, deleted, drafted and published. */
export const laterSync = (options: AdsOptions): Promise<Stage> => staged(options, changeMuch);

/** Every stage by its name. */
export const stages = {
  'the first sync of the ads': firstSync,
  'a sync of the ads that finds changes': laterSync,
} as const;

const command = { pipeline: 'ads', does: 'sync' } as const;

/** What the warehouse is compared with. */
interface Expected {
  readonly platform: AdsSimulator;
  /** What it equals at first; undefined: it is empty. */
  readonly old: Picture | undefined;
  /** What it shall equal in the end. */
  readonly truth: Picture;
  /** What it held, and the histories that it kept, before. */
  readonly before: Before | undefined;
  /** The platform's clock during the command: what watermarks become. */
  readonly clock: Date;
}

/** `meanwhile`: what happens at the platform after an earlier sync; absent: there was none. */
async function staged(more: AdsOptions, meanwhile?: (platform: AdsSimulator) => void): Promise<Stage> {
  const options = { ...smallest, ...more };
  const platform = await startAds(options);
  const { state, clock } = platform;
  const start = new Date(Math.floor(clock.now().getTime() / day - options.days) * day);
  const around = (databaseUrl: string): NodeJS.ProcessEnv =>
    adsEnvironment(platform, databaseUrl, {
      ADS_START: start.toISOString().slice(0, 10),
      ADS_ACCOUNT_IDS: [...state.accounts.keys()].join(','),
    });
  const shown = { from: start, history: options.dialect === 'vendor' };
  const base = await testDatabase();
  const [account = ''] = state.accounts.keys();
  // One to be published, one to be deleted, one to stay.
  for (const name of ['Soon', 'Never', 'Later']) state.createDraft(account, name);
  let old: Picture | undefined;
  let before: Before | undefined;
  if (meanwhile !== undefined) {
    await ran(command, around(base.url));
    old = pictureOf(state, shown);
    before = await beforeOf(async (query, parameters = []) => {
      const { rows } = await base.warehouse.pool.query(query, [...parameters]);
      return rows;
    });
    clock.advance(day);
    meanwhile(platform);
    clock.advance(60_000);
  }
  const truth = kept(old, pictureOf(state, shown));
  const expected: Expected = { platform, old, before, truth, clock: clock.now() };
  return {
    command,
    environment: around,
    ...(await copiesOf(base)),
    atOnce: (rows) => atOnce(expected, rows),
    inTheEnd: (rows, kills) => inTheEnd(expected, rows, kills),
    async close() {
      await platform.close();
      await base.drop();
    },
  };
}

/** The newer picture, with what an earlier sync captured. So short a history is read whole each time. */
function kept(old: Picture | undefined, young: Picture): Picture {
  if (old === undefined) return young;
  const rows = (of: Picture): readonly Cells[] => of.get('report_lifetime')?.rows ?? [];
  return new Map(
    [...young].map(([table, one]) => [
      table,
      table === 'report_lifetime' ? { ...one, rows: [...rows(old), ...rows(young)] } : one,
    ]),
  );
}

/** Guarantees G1, G2, G13 and G21 at any instant: no part is half, no checkpoint ahead of its data, no history without its change. */
async function atOnce(expected: Expected, rows: Rows): Promise<readonly string[]> {
  if (!(await isThere(rows, 'ads.report_daily'))) return [];
  const streams = await claimed(rows, expected.clock);
  const ahead = streams.size === 0 ? [] : await adsDifferences(rows, only(expected.truth, streams));
  return [
    ...(await adsHalves(rows, expected.old, expected.truth)),
    ...ahead.map((line) => `the checkpoint is ahead: ${line}`),
    ...(await countsHold(rows)),
    ...(await adsBooks(rows, expected.before)),
  ];
}

const only = (picture: Picture, streams: ReadonlySet<string>): Picture =>
  new Map([...picture].filter(([, { stream }]) => streams.has(stream)));

/** After a run that came to its end: the warehouse equals the platform to the micro, and the books are closed. */
async function inTheEnd(expected: Expected, rows: Rows, kills: number): Promise<readonly string[]> {
  return [
    ...(await closedBooks(rows, kills)),
    ...(await movedTo(rows, expected.clock)),
    ...(await adsDifferences(rows, expected.truth)),
    ...(await adsBooks(rows, expected.before)),
    ...(await jobsOnce(expected, rows, kills)),
    ...expected.platform.errors.map((error) => `the simulator failed: ${String(error)}`),
    ...expected.platform.storage.leaked.map((header) => `${header} was shown to the storage`),
  ];
}

/** A slice has one report whose id we have. A killed run may leave another, whose creation was not answered before. */
async function jobsOnce({ platform }: Expected, rows: Rows, kills: number): Promise<readonly string[]> {
  const jobs = await rows<{ slice_id: string; remote_id: string | null; status: string; attempt: number }>(
    'select slice_id::text, remote_id, status, attempt from ops.jobs order by slice_id, attempt',
  );
  const lines: string[] = [];
  for (const [slice, all] of Map.groupBy(jobs, (job) => job.slice_id)) {
    const known = all.filter((job) => job.remote_id !== null);
    if (known.length !== 1) lines.push(`slice ${slice}: ${known.length} reports were made for it`);
    if (all.length > known.length + kills) lines.push(`slice ${slice}: ${all.length} reports were asked for`);
    if (all.at(-1)?.status !== 'ready') lines.push(`slice ${slice}: its report is ${all.at(-1)?.status}`);
    for (const { remote_id } of known)
      if (!platform.storage.jobs.has(remote_id ?? ''))
        lines.push(`report ${remote_id} is not the platform's`);
  }
  if (jobs.length === 0) lines.push('no report was asked for');
  return lines;
}

/** Numbers restated at one level and at all of them; lists changed in every way that the platform has. */
function changeMuch({ state, clock }: AdsSimulator): void {
  const today = Math.floor(clock.now().getTime() / day) * day;
  const ago = (days: number): string => new Date(today - days * day).toISOString().slice(0, 10);
  const [account = ''] = state.accounts.keys();
  const [campaign = '', other = ''] = state.campaigns.keys();
  const [adSet = '', another = ''] = state.adSets.keys();
  const [first = '', second = '', third = ''] = state.ads.keys();
  const [audience = '', audience2 = ''] = state.audiences.keys();
  const [published, deleted] = [...state.drafts.values()].filter((one) => one.kind === 'campaign');
  state.restate('AD', first, ago(2), 'SPEND', '9007199254.740993');
  state.restate('CAMPAIGN', campaign, ago(3), 'IMPRESSIONS', '12345.0');
  state.correct(second, ago(2), { spend: 1n, counts: { CLICKS: 3, LEADS: 2 } });
  state.archive(third);
  state.archive(other);
  state.update(adSet, { budget: 9_007_199_254_740_995n, bid: 1_000_003n });
  state.update(another, { delivery: 'OFF' });
  // Rows of CSV reports under the old name go.
  state.update(second, { name: 'Renamed' });
  state.deleteAudience(audience);
  state.createAudience(account, 'New people', 'CUSTOM', { size: 4_321 });
  if (audience2 !== '') state.update(audience2, { size: 99 });
  clock.advance(1_000);
  state.publish(published?.of.id ?? '');
  state.deleteDraft(deleted?.of.id ?? '');
  const made = state.createCampaign(account, 'Born');
  const below = state.createAdSet(made.id, 'Born, set');
  state.createAd(below.id, 'Born, ad');
  state.createAsset(account, 'New sound', 'AUDIO');
  state.updateAccount(account, { name: 'Northwind, renamed' });
}
