/** The transforms of the ads platform, one per stream. Each throws `BadData` for a record that cannot become rows. */
export { csvRow, RAGGED } from './transform/csv.ts';
export { adDraft, adSetDraft, campaignDraft } from './transform/drafts.ts';
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
} from './transform/entities.ts';
export { dailyRow, hourlyRow, insight, lifetimeRow } from './transform/reports.ts';
