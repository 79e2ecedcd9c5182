/** The transforms of drafts. Nothing in a draft has been validated yet: only its id is demanded. */

import { bool, integer, text } from '../../../core/record-values.ts';
import type { AdDraftRow, AdSetDraftRow, CampaignDraftRow } from '../tables.ts';
import { AD_KEYS, AD_SET_KEYS, adContent, adSetContent, CAMPAIGN_KEYS, campaignContent } from './entities.ts';
import { draftInstant, mapper, texts, whatever } from './mapper.ts';

const VERSION = 'draft_hierarchy_version';

export const campaignDraft = mapper<CampaignDraftRow>(
  'ads.campaign_drafts',
  'draft campaign',
  [
    ...[
      ...CAMPAIGN_KEYS,
      VERSION,
      'channel',
      'ad_product',
      'salesforce_opportunity',
      'salesforce_sales_order',
    ],
    ...['media_plan_id', 'needs_advertiser_review', 'modified_by_role'],
  ],
  (r, record, slice) => ({
    ...campaignContent(r, record, slice),
    draft_hierarchy_version: integer(r, record, VERSION),
    channel: text(r, record, 'channel'),
    ad_product: text(r, record, 'ad_product'),
    salesforce_opportunity: text(r, record, 'salesforce_opportunity'),
    salesforce_sales_order: text(r, record, 'salesforce_sales_order'),
    media_plan_id: text(r, record, 'media_plan_id'),
    needs_advertiser_review: bool(r, record, 'needs_advertiser_review'),
    modified_by_role: text(r, record, 'modified_by_role'),
  }),
);

export const adSetDraft = mapper<AdSetDraftRow>(
  'ads.ad_set_drafts',
  'draft ad set',
  [...AD_SET_KEYS, VERSION, 'reservation_id', 'ias_campaign_id', 'success_metric'],
  (r, record, slice) => ({
    ...adSetContent(r, record, slice, draftInstant),
    draft_hierarchy_version: integer(r, record, VERSION),
    frequency_caps: whatever(r, record, 'frequency_caps'),
    reservation_id: text(r, record, 'reservation_id'),
    ias_campaign_id: text(r, record, 'ias_campaign_id'),
    success_metric: text(r, record, 'success_metric'),
  }),
);

export const adDraft = mapper<AdDraftRow>(
  'ads.ad_drafts',
  'draft ad',
  [...AD_KEYS, VERSION, 'asset_format', 'placements', 'dv_client_code'],
  (r, record, slice) => ({
    ...adContent(r, record, slice),
    draft_hierarchy_version: integer(r, record, VERSION),
    asset_format: text(r, record, 'asset_format'),
    placements: texts(r, record, 'placements'),
    dv_client_code: text(r, record, 'dv_client_code'),
  }),
);
