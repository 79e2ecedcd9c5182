/** What the platform holds and everything that can happen to it. Every write is stamped with the simulator's clock. */

import type { Clock } from '../shared/clock.ts';
import { mix, random } from '../shared/random.ts';
import type { Account, Ad, AdSet, Asset, Audience, Campaign, Change, Draft, Level } from './model.ts';

/** A UUID that is the same for the same seed and number. */
export const uuid = (seed: number, number: number): string => {
  const hex = [0, 1, 2, 3]
    .map((part) =>
      mix(mix(seed, number), part + 7)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

export interface Sizes {
  readonly accounts: number;
  readonly campaigns: number;
  readonly adSetsPerCampaign: number;
  readonly adsPerAdSet: number;
  /** How long ago the campaigns began. */
  readonly days: number;
}

const day = 86_400_000;
const currencies = ['USD', 'EUR', 'JPY', 'GBP'] as const;
const themes = [
  'Spring',
  'Back to school',
  'Podcast lovers',
  'Gym hours',
  'Festival',
  'New album',
  'Winter sale',
  'Late night',
] as const;

export class AdsState {
  readonly businesses: { readonly id: string; name: string }[] = [];
  readonly accounts = new Map<string, Account>();
  readonly campaigns = new Map<string, Campaign>();
  readonly adSets = new Map<string, AdSet>();
  readonly ads = new Map<string, Ad>();
  readonly assets = new Map<string, Asset>();
  readonly audiences = new Map<string, Audience>();
  readonly drafts = new Map<string, Draft>();
  readonly changes: Change[] = [];
  /** Numbers that were told otherwise than they are made: `LEVEL id YYYY-MM-DD` → field → JSON number text. */
  readonly told = new Map<string, Map<string, string>>();
  readonly clock: Clock;
  readonly seed: number;
  private made = 0;

  constructor(seed: number, clock: Clock, sizes: Sizes) {
    this.seed = seed;
    this.clock = clock;
    this.businesses.push({ id: this.newId(), name: 'Northwind Audio' });
    for (let i = 0; i < sizes.accounts; i += 1) this.company(i, sizes);
  }

  private now(): number {
    return this.clock.now().getTime();
  }

  private newId(): string {
    this.made += 1;
    return uuid(this.seed, this.made);
  }

  /** One account with campaigns that began `days` ago, at midnight. */
  private company(index: number, sizes: Sizes): void {
    const dice = random(mix(this.seed, index));
    const began = Math.floor(this.now() / day) * day - sizes.days * day;
    const account: Account = {
      id: this.newId(),
      businessId: this.businesses[0]?.id ?? '',
      name: `Northwind ${index + 1}`,
      currency: currencies[index % currencies.length] ?? 'USD',
      country: 'US',
      forbidden: false,
    };
    this.accounts.set(account.id, account);
    const stamped = { accountId: account.id, createdAt: began, updatedAt: began };
    const assets = (['AUDIO', 'IMAGE', 'VIDEO'] as const).map((type) => {
      const asset: Asset = {
        ...stamped,
        id: this.newId(),
        name: `${type.toLowerCase()} one`,
        status: 'READY',
        type,
        archived: false,
      };
      this.assets.set(asset.id, asset);
      return asset;
    });
    for (const type of ['CUSTOM', 'LOOKALIKE'] as const) {
      const audience: Audience = {
        ...stamped,
        id: this.newId(),
        name: `${type.toLowerCase()} of ${account.name}`,
        status: 'LIVE',
        type,
        size: 1000,
      };
      this.audiences.set(audience.id, audience);
    }
    for (let c = 0; c < sizes.campaigns; c += 1) {
      const campaign: Campaign = {
        ...stamped,
        createdAt: began + c * 1000,
        updatedAt: began + c * 1000,
        id: this.newId(),
        name: `${themes[c % themes.length] ?? 'Campaign'} ${c + 1}`,
        status: 'ACTIVE',
        objective: dice.pick(['REACH', 'CLICKS', 'PODCAST_STREAMS']),
      };
      this.campaigns.set(campaign.id, campaign);
      for (let s = 0; s < sizes.adSetsPerCampaign; s += 1) {
        const adSet: AdSet = {
          ...stamped,
          createdAt: began + c * 1000 + s,
          updatedAt: began + c * 1000 + s,
          id: this.newId(),
          name: `${campaign.name}, set ${s + 1}`,
          status: 'ACTIVE',
          campaignId: campaign.id,
          // The first one's budget is beyond what a double can hold.
          budget: c === 0 && s === 0 ? 9_007_199_254_740_993n : BigInt(5_000_000 + dice.int(95_000_000)),
          budgetType: dice.chance(0.7) ? 'DAILY' : 'LIFETIME',
          bid: BigInt(1_000_000 + dice.int(24_000_000)),
          start: began,
          end: undefined,
          targets: {
            age_ranges: [
              { min: 18, max: 34 },
              { min: 45, max: 54 },
            ],
            geo_targets: { country_code: 'US', region_ids: ['123', '456'], city_ids: [] },
            genders: ['FEMALE', 'MALE'],
            platforms: ['ANDROID', 'IOS'],
            placements: ['MUSIC', 'PODCAST'],
            interest_ids: [`interest-${dice.int(9)}`],
          },
          caps: [{ frequency_unit: 'DAY', frequency_period: 1, max_impressions: 3 + dice.int(5) }],
        };
        this.adSets.set(adSet.id, adSet);
        for (let a = 0; a < sizes.adsPerAdSet; a += 1) {
          const ad: Ad = {
            ...stamped,
            createdAt: began + c * 1000 + s,
            updatedAt: began + c * 1000 + s,
            id: this.newId(),
            name: `${adSet.name}, ad ${a + 1}`,
            status: 'ACTIVE',
            adSetId: adSet.id,
            assetId: dice.pick(assets).id,
            tagline: 'Hear it first',
          };
          this.ads.set(ad.id, ad);
        }
      }
    }
  }

  /** Changes fields of a live entity, notes it in the history, and stamps it. Throws where there is none of that id. */
  update(
    id: string,
    fields: Partial<Campaign> | Partial<AdSet> | Partial<Ad> | Partial<Audience> | Partial<Asset>,
  ): void {
    const found =
      this.campaigns.get(id) ??
      this.adSets.get(id) ??
      this.ads.get(id) ??
      this.audiences.get(id) ??
      this.assets.get(id);
    if (found === undefined) throw new RangeError(`the platform has no ${id}`);
    const type = this.campaigns.has(id) ? 'CAMPAIGN' : this.adSets.has(id) ? 'AD_SET' : 'AD';
    for (const [field, after] of Object.entries(fields)) {
      const before: unknown = Reflect.get(found, field);
      const change: Change = {
        id: this.newId(),
        accountId: found.accountId,
        at: this.now(),
        entityType: type,
        entityId: id,
        field,
        before: String(before),
        after: String(after),
      };
      this.changes.push(change);
    }
    Object.assign(found, fields, { updatedAt: this.now() });
  }

  /** A new ad in an ad set; begins to deliver with the next day. */
  createAd(adSetId: string, name: string): Ad {
    const adSet = this.adSets.get(adSetId);
    if (adSet === undefined) throw new RangeError(`the platform has no ad set ${adSetId}`);
    const at = this.now();
    const [asset] = [...this.assets.values()].filter((one) => one.accountId === adSet.accountId);
    const ad: Ad = {
      id: this.newId(),
      accountId: adSet.accountId,
      createdAt: at,
      updatedAt: at,
      name,
      status: 'ACTIVE',
      adSetId,
      assetId: asset?.id ?? '',
      tagline: 'New here',
    };
    this.ads.set(ad.id, ad);
    return ad;
  }

  /** A draft of a campaign with one ad set and one ad, none of them live. Gives their ids. */
  createDraft(
    accountId: string,
    name: string,
  ): { readonly campaign: string; readonly adSet: string; readonly ad: string } {
    const at = this.now();
    const stamped = { accountId, createdAt: at, updatedAt: at, status: 'ACTIVE' };
    const campaign: Campaign = { ...stamped, id: this.newId(), name, objective: 'REACH' };
    const adSet: AdSet = {
      ...stamped,
      id: this.newId(),
      name: `${name}, set`,
      campaignId: campaign.id,
      budget: 12_345_678n,
      budgetType: 'DAILY',
      bid: 1_500_001n,
      start: at,
      end: undefined,
      targets: {},
      caps: [],
    };
    const ad: Ad = {
      ...stamped,
      id: this.newId(),
      name: `${name}, ad`,
      adSetId: adSet.id,
      assetId: '',
      tagline: 'Soon',
    };
    this.drafts.set(campaign.id, { kind: 'campaign', version: 1, of: campaign });
    this.drafts.set(adSet.id, { kind: 'ad_set', of: adSet });
    this.drafts.set(ad.id, { kind: 'ad', of: ad });
    this.touch(campaign.id);
    this.touch(campaign.id);
    return { campaign: campaign.id, adSet: adSet.id, ad: ad.id };
  }

  /** The hierarchy of a draft campaign has changed. */
  touch(campaignId: string): void {
    const draft = this.drafts.get(campaignId);
    if (draft?.kind === 'campaign') draft.version += 1;
  }

  /** The draft campaign that a draft belongs to. */
  campaignOf(draft: Draft): string {
    if (draft.kind === 'campaign') return draft.of.id;
    if (draft.kind === 'ad_set') return draft.of.campaignId;
    const above = this.drafts.get(draft.of.adSetId);
    return above?.kind === 'ad_set' ? above.of.campaignId : '';
  }

  /** Makes a draft campaign and everything below it live, under the same ids; the drafts are gone. */
  publish(campaignId: string): void {
    const all = [...this.drafts].filter(([, draft]) => this.campaignOf(draft) === campaignId);
    for (const [id, draft] of all) {
      if (draft.kind === 'campaign') this.campaigns.set(id, draft.of);
      else if (draft.kind === 'ad_set') this.adSets.set(id, draft.of);
      else this.ads.set(id, draft.of);
      draft.of.updatedAt = this.now();
      this.drafts.delete(id);
    }
  }

  deleteDraft(id: string): boolean {
    const draft = this.drafts.get(id);
    if (draft === undefined) return false;
    const campaign = this.campaignOf(draft);
    this.drafts.delete(id);
    this.touch(campaign);
    return true;
  }

  deleteAudience(id: string): boolean {
    return this.audiences.delete(id);
  }

  /** From now on the platform tells this number, exactly as written: restated, or wrong. `day`: YYYY-MM-DD. */
  restate(level: Level, id: string, day: string, field: string, text: string): void {
    const key = `${level} ${id} ${day}`;
    const fields = this.told.get(key) ?? new Map<string, string>();
    fields.set(field, text);
    this.told.set(key, fields);
  }
}
