import { afterEach, expect, test } from 'vitest';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';

let rig: AdsRig;
afterEach(() => rig?.close());

test('reach of a period is what the platform says, less than the sum over its days and its ads', async () => {
  rig = await openAdsRig({
    accounts: 1,
    campaigns: 2,
    adSetsPerCampaign: 2,
    adsPerAdSet: 2,
    days: 10,
    dialect: 'vendor',
  });
  const streams = [
    'businesses',
    'ad_accounts',
    'campaigns',
    'ads',
    'ad_sets',
    'report_daily',
    'report_lifetime',
  ];
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  const campaigns = await rig.rows<Record<'named' | 'reach' | 'listeners' | 'days' | 'ads', string>>(`
    select p.entity_name as named, p.reach_period as reach, p.listeners_period as listeners,
      (select sum(reach_day) from bi.campaign_performance_daily d where d.campaign_id = p.entity_id) as days,
      (select sum(a.reach_period) from bi.reach_periods a join bi.ads using (source)
       where a.entity_type = 'AD' and a.entity_id = ad_id and campaign_id = p.entity_id) as ads
    from bi.reach_periods p where p.entity_type = 'CAMPAIGN' and p.is_latest`);
  const truth = [...rig.platform.truth().lifetimes('CAMPAIGN')];
  expect(campaigns.map(({ reach, listeners }) => [Number(reach), Number(listeners)]).sort()).toEqual(
    truth.map(({ fields }) => [Number(fields.get('REACH')), Number(fields.get('LISTENERS'))]).sort(),
  );
  expect(campaigns).toHaveLength(2);
  for (const { named, reach, days, ads } of campaigns)
    expect([named, Number(reach) < Number(days), Number(reach) < Number(ads)]).toEqual([named, true, true]);
});
