/**
 * What left the lists spent what it spent: archived and deleted entities, and those of a status that a list does not show by default, are
 * named by reports alone (public reports of ads connectors whose campaign spend is below the invoice, with every run green).
 */
import { afterEach, expect, test } from 'vitest';
import { status } from '../../../simulators/shared/faults.ts';
import type { LoggedRequest } from '../../../simulators/shared/script.ts';
import type { RunReport } from '../../../src/core/run.ts';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';
import { dailyLines, dailyQuery } from '../../support/ads-truth.ts';

let rig: AdsRig;
afterEach(async () => {
  expect(rig.platform.errors).toEqual([]);
  await rig.close();
});

const small = { accounts: 1, campaigns: 2, adSetsPerCampaign: 2, adsPerAdSet: 2, days: 20 } as const;
const streams = [
  'businesses',
  'ad_accounts',
  'campaigns',
  'ad_sets',
  'ads',
  'report_daily',
  'report_lifetime',
];
const aggregateReports = '/ad_accounts/{id}/aggregate_reports';
const isWhole = ({ query }: LoggedRequest): boolean =>
  'entity_type' in query && !('entity_ids' in query) && query.entity_type !== 'AD_ACCOUNT';
const truth = () =>
  dailyLines(rig.platform.state, new Date('2026-01-01T00:00:00Z'), new Date('2026-06-30T00:00:00Z'));
const lines = async (): Promise<readonly string[]> =>
  (await rig.rows<{ line: string }>(dailyQuery)).map(({ line }) => line);
const gaps = () => rig.notes.filter((note) => note.includes('that another level has'));
const succeed = async (run: Promise<RunReport>): Promise<RunReport> => {
  const report = await run;
  expect(report.status, report.error?.message).toBe('succeeded');
  return report;
};

/** Takes a campaign with everything below it, an ad set and an ad from the lists; gives their ids. */
const unlist = () => {
  const { state } = rig.platform;
  const [campaign, other] = [...state.campaigns.values()];
  const sets = [...state.adSets.values()];
  const gone = sets.filter(({ campaignId }) => campaignId === campaign?.id);
  const adSet = sets.find(({ campaignId }) => campaignId === other?.id);
  const ads = [...state.ads.values()];
  const ofGone = ads.filter(({ adSetId }) => gone.some(({ id }) => id === adSetId));
  const orphan = ads.filter(({ adSetId }) => adSetId === adSet?.id).slice(0, 1);
  const ids = [campaign, adSet, ...gone, ...ofGone, ...orphan].map((one) => one?.id ?? '');
  for (const id of ids) state.unlisted.add(id);
  return {
    campaign: campaign?.id ?? '',
    ads: [...ofGone, ...orphan].map(({ id }) => id).sort(),
    count: ids.length,
  };
};

test.each(['contract', 'vendor'] as const)(
  'of a %s platform: each level has it, with name and parent from the report, and the levels add up',
  async (dialect) => {
    rig = await openAdsRig({ ...small, dialect });
    const { state } = rig.platform;
    const { campaign, ads, count } = unlist();
    state.archive(campaign);
    await succeed(rig.sync({ streams }));
    expect(await lines()).toEqual(truth());
    expect(await rig.rows('select * from bi.ad_level_checks')).toEqual([]);
    expect(gaps()).toEqual([]);
    const named = await rig.rows<{ id: string; name: string; parent: string }>(`
      select id, name, status, ad_set_id as parent from ads.ads where not is_listed order by 1`);
    expect(named).toEqual(
      ads.map((id) => {
        const { name, status: is, adSetId } = { name: '', status: '', adSetId: '', ...state.ads.get(id) };
        return { id, name, status: is, parent: adSetId };
      }),
    );
    const [found] = await rig.rows<{ rows: number }>(`select count(*)::int as rows from (
      select id from ads.campaigns where not is_listed union all select id from ads.ad_sets where not is_listed
      union all select id from ads.ads where not is_listed) all_of_them`);
    expect(found?.rows).toBe(count);
    // Its campaign is found through its ad set, both of which only reports name.
    expect(await rig.rows(`select distinct campaign_id from bi.ads where ad_id = '${ads[0]}'`)).toHaveLength(
      1,
    );

    // A second night reads no history again, and changes nothing.
    const before = rig.platform.log.length;
    const again = await succeed(rig.sync({ streams }));
    expect(again.counts).toMatchObject({ inserted: 0, updated: 0 });
    const old = rig.platform.log
      .slice(before)
      .filter(({ query }) => (query.report_start ?? '9') < '2026-03' && query.granularity === 'DAY');
    expect(old).toEqual([]);

    // Shown again, they are listed, whole, and not read as late.
    state.unlisted.clear();
    await succeed(rig.sync({ streams }));
    expect(await rig.rows('select id from ads.ads where not is_listed or created_at is null')).toEqual([]);
  },
);

test('also where days must be asked for by id, and where its numbers are restated once it is gone', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor', wholeAccounts: false });
  const { state } = rig.platform;
  await succeed(rig.sync({ streams }));
  const { ads } = unlist();
  state.restate('AD', ads[0] ?? '', '2026-06-29', 'SPEND', '123.456789');
  await succeed(rig.sync({ streams }));
  expect(await lines()).toEqual(truth());
  // They were listed once: their rows are whole.
  expect(await rig.rows('select id from ads.ads where not is_listed')).toEqual([]);
});

test('where a server reports by id alone, what is missing is said: account, level, amount and days; the run is good', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const { script, state } = rig.platform;
  unlist();
  const refused = script.at(
    { endpoint: aggregateReports, match: isWhole, times: Number.POSITIVE_INFINITY },
    status(400),
  );
  await succeed(rig.sync({ streams }));
  expect(rig.notes.filter((note) => note.includes('only what lists show can be requested'))).not.toEqual([]);
  const [owner] = state.accounts.values();
  const checks = await rig.rows<{ gap: string; from: string; to: string; days: number }>(`
    select trim_scale(sum(upper_sum - lower_sum))::text as gap, min(date_day)::text as from, max(date_day)::text as to,
      count(*)::int as days from bi.ad_level_checks where measure = 'spend' and upper_level = 'AD_ACCOUNT'`);
  const [{ gap = '', from = '', to = '', days = 0 } = {}] = checks;
  expect(Number(gap)).toBeGreaterThan(0);
  expect(gaps()).toHaveLength(3);
  expect(gaps()).toContainEqual(
    expect.stringMatching(
      `${owner?.name} \\(${owner?.id}\\): AD lacks ${gap} ${owner?.currency} of spend, \\d+ impressions.* on ${days} days from ${from} to ${to}; see bi.ad_level_checks`,
    ),
  );
  // Refused once a stream, not once a slice.
  expect(refused.fired).toBeLessThan(20);
});

test('a campaign with a listed ad set, and an ad whose ad set is unknown, keep their numbers under the names of reports', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const { state, script } = rig.platform;
  const [campaign] = state.campaigns.values();
  const [adSet] = [...state.adSets.values()].reverse();
  for (const one of [campaign, adSet]) state.unlisted.add(one?.id ?? '');
  // No report of the level of ad sets either.
  script.at(
    {
      endpoint: aggregateReports,
      match: (request) => isWhole(request) && request.query.entity_type === 'AD_SET',
      times: Number.POSITIVE_INFINITY,
    },
    status(400),
  );
  await succeed(rig.sync({ streams }));
  expect(
    await rig.rows(
      `select campaign_name from bi.ad_set_performance_daily where campaign_id = '${campaign?.id}' limit 1`,
    ),
  ).toEqual([{ campaign_name: campaign?.name }]);
  const orphans = await rig.rows<{ ad_set_id: string; spend: string }>(`
    select ad_set_id, sum(spend)::text as spend from bi.ad_performance_daily where ad_set_id = '${adSet?.id}' group by 1`);
  expect(orphans).toHaveLength(1);
});
