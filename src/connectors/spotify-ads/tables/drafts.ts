/**
 * Drafts, in tables of their own: a draft and the live object it came from or becomes share one id. Everything in a draft may still be
 * missing.
 */

import type { Integer } from '../../../core/table.ts';
import { table } from '../../../core/table.ts';
import {
  type AdContent,
  type AdSetContent,
  adColumns,
  adSetColumns,
  type CampaignContent,
  campaignColumns,
  type Maybe,
} from './entities.ts';

type Draft = { readonly draft_hierarchy_version: Maybe<Integer> };

export type CampaignDraftRow = CampaignContent &
  Draft & {
    readonly channel: Maybe<string>;
    readonly ad_product: Maybe<string>;
    readonly salesforce_opportunity: Maybe<string>;
    readonly salesforce_sales_order: Maybe<string>;
    readonly media_plan_id: Maybe<string>;
    readonly needs_advertiser_review: Maybe<boolean>;
    readonly modified_by_role: Maybe<string>;
  };

export const campaignDrafts = table<CampaignDraftRow>({
  schema: 'ads',
  name: 'campaign_drafts',
  columns: {
    ...campaignColumns,
    draft_hierarchy_version: 'bigint',
    channel: 'text',
    ad_product: 'text',
    salesforce_opportunity: 'text',
    salesforce_sales_order: 'text',
    media_plan_id: 'text',
    needs_advertiser_review: 'bool',
    modified_by_role: 'text',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type AdSetDraftRow = AdSetContent &
  Draft & {
    readonly frequency_caps: Maybe<string>;
    readonly reservation_id: Maybe<string>;
    readonly ias_campaign_id: Maybe<string>;
    readonly success_metric: Maybe<string>;
  };

export const adSetDrafts = table<AdSetDraftRow>({
  schema: 'ads',
  name: 'ad_set_drafts',
  columns: {
    ...adSetColumns,
    draft_hierarchy_version: 'bigint',
    frequency_caps: 'jsonb',
    reservation_id: 'text',
    ias_campaign_id: 'text',
    success_metric: 'text',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});

export type AdDraftRow = AdContent &
  Draft & {
    readonly asset_format: Maybe<string>;
    readonly placements: readonly string[];
    readonly dv_client_code: Maybe<string>;
  };

export const adDrafts = table<AdDraftRow>({
  schema: 'ads',
  name: 'ad_drafts',
  columns: {
    ...adColumns,
    draft_hierarchy_version: 'bigint',
    asset_format: 'text',
    placements: 'text[]',
    dv_client_code: 'text',
  },
  key: ['id'],
  tombstones: true,
  entity: true,
});
