/** What has not gone live: drafts. Their ids are also those of their live twins. */

import type { ReadSide } from '../../../core/stream.ts';
import type { Ads } from '../ads.ts';
import { listOfAccount } from './of-account.ts';

export const campaignDrafts = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'campaign_drafts',
    about:
      'Drafts of campaigns, with the version of their hierarchy; published and deleted ones leave the list.',
    list: { endpoint: '/ad_accounts/{id}/drafts/campaigns', key: 'campaign_drafts', sort: 'CREATED_AT' },
  });

/** The vendor cannot order these two. */
export const adSetDrafts = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'ad_set_drafts',
    about: 'Drafts of ad sets.',
    list: { endpoint: '/ad_accounts/{id}/drafts/ad_sets', key: 'ad_set_drafts' },
  });

export const adDrafts = (ads: Ads): ReadSide =>
  listOfAccount(ads, {
    name: 'ad_drafts',
    about: 'Drafts of ads.',
    list: { endpoint: '/ad_accounts/{id}/drafts/ads', key: 'ad_drafts' },
  });
