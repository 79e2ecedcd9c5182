/** Drafts have tables of their own: a draft and its live object share one id. Everything in a draft may still be missing. */
import { bigint, bool, jsonb, type RowOf, table, text, texts } from '../../../core/table.ts';
import { adColumns, adSetColumns, campaignColumns } from './entities.ts';

const draft = {
  draft_hierarchy_version: bigint(
    'Grows with every change in the draft campaign and below it; null for drafts below a campaign as a rule.',
  ).nullable(),
};

export const campaignDrafts = table(
  'ads.campaign_drafts',
  'Draft campaigns, one row each; not live. A draft shares its id with the live campaign it came from or becomes.',
  {
    ...campaignColumns,
    ...draft,
    channel: text('Booking channel.').nullable(),
    ad_product: text('Ad product.').nullable(),
    salesforce_opportunity: text('Opportunity code in Salesforce.').nullable(),
    salesforce_sales_order: text('Sales order code in Salesforce.').nullable(),
    media_plan_id: text('Media plan it belongs to.').nullable(),
    needs_advertiser_review: bool(
      'True when the advertiser must look at it before it is published.',
    ).nullable(),
    modified_by_role: text('Who changed it last: ADVERTISER or IMPERSONATOR.').nullable(),
  },
  { indexes: ['(source_id, ad_account_id)'] },
);
export type CampaignDraftRow = RowOf<typeof campaignDrafts>;

export const adSetDrafts = table(
  'ads.ad_set_drafts',
  'Draft ad sets, one row each; not live. A draft shares its id with the live ad set it came from or becomes.',
  {
    ...adSetColumns,
    ...draft,
    frequency_caps: jsonb('How often one person may hear it, as delivered.').nullable(),
    reservation_id: text('Reservation it uses.').nullable(),
    ias_campaign_id: text('Campaign at Integral Ad Science.').nullable(),
    success_metric: text('What success is measured by.').nullable(),
  },
  { wide: true, indexes: ['(source_id, ad_account_id)'] },
);
export type AdSetDraftRow = RowOf<typeof adSetDrafts>;

export const adDrafts = table(
  'ads.ad_drafts',
  'Draft ads, one row each; not live. A draft shares its id with the live ad it came from or becomes.',
  {
    ...adColumns,
    ...draft,
    asset_format: text('AUDIO, VIDEO, IMAGE or CATALOG.').nullable(),
    placements: texts('Where it may be placed.'),
    dv_client_code: text('Client code at DoubleVerify.').nullable(),
  },
  { indexes: ['(source_id, ad_account_id)'] },
);
export type AdDraftRow = RowOf<typeof adDrafts>;
