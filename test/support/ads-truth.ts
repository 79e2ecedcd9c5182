/** The ads platform's own truth, as the warehouse must hold it: compared cell by cell, amounts to the micro. */

import { fieldsOf, sumsOf, units } from '../../simulators/spotify-ads/metrics.ts';
import type { Level } from '../../simulators/spotify-ads/model.ts';
import type { AdsState } from '../../simulators/spotify-ads/state.ts';

const day = 86_400_000;
export const levels: readonly Level[] = ['AD_ACCOUNT', 'CAMPAIGN', 'AD_SET', 'AD'];

/** Ids of a level. */
export const idsOf = (state: AdsState, level: Level): readonly string[] =>
  [
    ...{ AD_ACCOUNT: state.accounts, CAMPAIGN: state.campaigns, AD_SET: state.adSets, AD: state.ads }[
      level
    ].keys(),
  ].sort();

/** Lines `level id day spend impressions clicks leads suppressed` of all days `[from, to)`, sorted. */
export function dailyLines(state: AdsState, from: Date, to: Date): readonly string[] {
  const lines: string[] = [];
  for (const level of levels)
    for (const id of idsOf(state, level))
      for (let at = from.getTime(); at < to.getTime(); at += day) {
        const sums = sumsOf(state, level, id, at, at + day);
        if (sums === undefined) continue;
        const date = new Date(at).toISOString().slice(0, 10);
        const reported = state.reported.get(`${level} ${id} ${date}`);
        const fields = { ...fieldsOf(sums), ...(reported === undefined ? {} : Object.fromEntries(reported)) };
        const leads = fields.LEADS === '-5' ? 'none true' : `${Number(fields.LEADS)} false`;
        lines.push(
          `${level} ${id} ${date} ${six(fields.SPEND ?? '')} ${Number(fields.IMPRESSIONS)} ${Number(fields.CLICKS)} ${leads}`,
        );
      }
  return lines.sort();
}

/** Six digits behind the point. */
const six = (text: string): string => {
  const [whole = '0', rest = ''] = text.split('.');
  return `${whole}.${rest.padEnd(6, '0')}`;
};

export const dailyQuery = `select concat_ws(' ', entity_type, entity_id, day, spend::numeric(38,6), impressions, clicks,
  coalesce(leads::text, 'none'), coalesce(leads_suppressed, false)::text) collate "C" as line from ads.report_daily order by 1`;

/** Lines `id campaign status budget bid` of the ad sets. */
export const adSetLines = (state: AdsState): readonly string[] =>
  [...state.adSets.values()]
    .map((one) => `${one.id} ${one.campaignId} ${one.status} ${units(one.budget)} ${units(one.bid)}`)
    .sort();

export const adSetQuery = `select concat_ws(' ', id, campaign_id, status, budget::numeric(38,6), bid::numeric(38,6)) as line
  from ads.ad_sets order by 1`;
