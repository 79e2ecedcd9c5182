/** What changes at the simulated ads platform between two syncs, each with the SQL that shows whether it arrived. */
import { adDay } from '../spotify-ads/metrics.ts';
import type { AdsSimulator } from '../spotify-ads/server.ts';
import type { Change } from './facts.ts';

const day = 86_400_000;

/**
 * Moves the clock on by a day, then corrects a spend of three days ago, raises a budget and deletes an audience.
 * Equal platforms get equal changes.
 */
export function changeAds({ state, clock }: AdsSimulator): readonly Change[] {
  clock.advance(day);
  const adSets = [...state.adSets.values()];
  const adSet = adSets.find(({ budgetType }) => budgetType === 'DAILY') ?? adSets[0];
  const [audience] = state.audiences.values();
  // That day was over in every time zone at the first sync, which has therefore read it.
  const midnight = Math.floor(clock.now().getTime() / day) * day - 3 * day;
  const lately = new Date(midnight).toISOString().slice(0, 10);
  // Some ads have no numbers on some days.
  const ad = [...state.ads.values()].find((each) => adDay(state, each, midnight) !== undefined);
  if (ad === undefined || adSet === undefined || audience === undefined)
    throw new Error('the platform is empty');
  // Every level tells it: a platform corrects what was delivered, not one report.
  state.correct(ad.id, lately, { spend: 1_234_567_891n - (adDay(state, ad, midnight)?.spend ?? 0n) });
  const budget = adSet.budget + 25_000_001n;
  state.update(adSet.id, { budget });
  state.deleteAudience(audience.id);
  return [
    {
      what: `spend of ${lately} corrected: ${ad.name}`,
      found: `select coalesce(old_value::numeric(18,6)::text, 'nothing') || ' became ' || new_value::numeric(18,6) from ads.report_revisions
        where entity_type = 'AD' and entity_id = $1 and day = $2::date and metric = 'spend' and new_value = 1234.567891`,
      values: [ad.id, lately],
    },
    {
      what: `new budget: ${adSet.name}`,
      found: `select 'version ' || count(*) || ', now ' || max(budget::text) filter (where valid_to is null) from ads.ad_set_versions
        where id = $1 having max(budget) filter (where valid_to is null) = $2::numeric / 1000000 and count(*) > 1`,
      values: [adSet.id, String(budget)],
    },
    {
      what: `audience deleted: ${audience.name}`,
      found: `select 'kept, marked deleted' from ads.audiences where id = $1 and _deleted_at is not null`,
      values: [audience.id],
    },
  ];
}
