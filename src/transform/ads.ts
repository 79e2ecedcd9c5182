/** The transforms of the ads platform, one per stream. Each throws `BadData` for a record that cannot become rows. */
export { csvRow, RAGGED } from './ads/csv.ts';
export { adDraft, adSetDraft, campaignDraft } from './ads/drafts.ts';
export {
  ad,
  adAccount,
  adCategory,
  adSet,
  asset,
  audience,
  business,
  campaign,
  change,
} from './ads/entities.ts';
export { dailyRow, hourlyRow, insight, lifetimeRow } from './ads/reports.ts';
