/** Who advertises: accounts in several currencies with campaigns, ad sets and ads, the same for the same seed. */

import { mix, type Random, random } from '../shared/random.ts';
import * as make from './make.ts';
import type { Account, Ad, AdSet, Asset, Audience, Campaign } from './model.ts';

export interface Sizes {
  readonly accounts: number;
  /** Per account. */
  readonly campaigns: number;
  readonly adSetsPerCampaign: number;
  readonly adsPerAdSet: number;
  /** How long ago the campaigns began. */
  readonly days: number;
}

/** One account and all that is in it. */
export interface Advertiser {
  readonly account: Account;
  readonly campaigns: readonly Campaign[];
  readonly adSets: readonly AdSet[];
  readonly ads: readonly Ad[];
  readonly assets: readonly Asset[];
  readonly audiences: readonly Audience[];
}

const markets = [
  { currency: 'USD', country: 'US', region: 'North America' },
  { currency: 'EUR', country: 'DE', region: 'DACH' },
  { currency: 'JPY', country: 'JP', region: 'Japan' },
  { currency: 'GBP', country: 'GB', region: 'UK & Ireland' },
] as const;
const themes = [
  'Spring launch',
  'Back to school',
  'Podcast lovers',
  'Gym hours',
  'Festival season',
  'New album',
  'Winter sale',
  'Late night',
  'Morning commute',
  'Città, “città”',
];
const publics = [
  'Prospecting',
  'Retargeting',
  'Lookalike 1 %',
  'Commuters',
  'Runners',
  'Parents',
  'Students, 18–24',
];
const cuts = [
  '30s voice',
  '15s jingle',
  '“Hear it”',
  'Host read',
  'Square video',
  '60s story, long',
  'A/B variant',
];

/** The `index`-th account; its campaigns began `days` before `today`, at midnight. `id` gives a new id each time. */
export function advertiser(
  seed: number,
  index: number,
  sizes: Sizes,
  began: number,
  id: () => string,
): Advertiser {
  const dice = random(mix(seed, index));
  const market = markets[index % markets.length] ?? markets[0];
  const account: Account = {
    id: id(),
    businessId: '',
    createdAt: began,
    updatedAt: began,
    name: `Northwind ${market.region}${index < markets.length ? '' : ` ${index + 1}`}`,
    status: 'ACTIVE',
    currency: market.currency,
    country: market.country,
    industry: 'MUSIC',
    website: 'https://northwind.example/',
    forbidden: false,
  };
  const stamp = (later = 0): make.Stamp => ({
    id: id(),
    accountId: account.id,
    createdAt: began + later,
    updatedAt: began + later,
  });
  const assets = (['AUDIO', 'IMAGE', 'VIDEO'] as const).flatMap((type) =>
    ['Brand', 'Season'].map((name) => make.asset(stamp(), `${name} ${type.toLowerCase()}`, type)),
  );
  const seedAudience = make.audience(stamp(), `Customers of ${account.name}`, 'CUSTOM', { lookbackDays: 90 });
  const audiences = [
    seedAudience,
    make.audience(stamp(), `Like customers of ${account.name}`, 'LOOKALIKE', {
      seedId: seedAudience.id,
      size: 25_000,
    }),
  ];
  const campaigns: Campaign[] = [];
  const adSets: AdSet[] = [];
  const ads: Ad[] = [];
  for (let c = 0; c < sizes.campaigns; c += 1) {
    const objective = dice.pick(['REACH', 'CLICKS', 'PODCAST_STREAMS']);
    const goal = { REACH: 'AWARENESS', CLICKS: 'WEBSITE_TRAFFIC' }[objective] ?? 'ENGAGEMENT_ON_SPOTIFY';
    const theme = themes[c % themes.length] ?? 'Campaign';
    const campaign = make.campaign(stamp(c * 1000), `${theme} ${c + 1}`, { objective, goal });
    campaigns.push(campaign);
    for (let s = 0; s < sizes.adSetsPerCampaign; s += 1) {
      const adSet = make.adSet(stamp(c * 1000 + s), `${theme}: ${publics[s % publics.length]} ${s + 1}`, {
        campaignId: campaign.id,
        // Of a day: about what its ads spend.
        budget: BigInt(sizes.adsPerAdSet) * BigInt(50_000_000 + dice.int(50_000_000)),
        budgetType: dice.chance(0.7) ? 'DAILY' : 'LIFETIME',
        bid: BigInt(1_000_000 + dice.int(24_000_000)),
        start: began,
        ...aim(dice, market.country, seedAudience.id),
      });
      // What is spent over a life has an end.
      const lifeDays = sizes.days + 365;
      adSets.push(
        adSet.budgetType === 'LIFETIME'
          ? { ...adSet, end: began + lifeDays * 86_400_000, budget: adSet.budget * BigInt(lifeDays) }
          : adSet,
      );
      for (let a = 0; a < sizes.adsPerAdSet; a += 1)
        ads.push(
          make.ad(stamp(c * 1000 + s), `${cuts[a % cuts.length]} ${a + 1}, ${theme} ${c + 1}.${s + 1}`, {
            adSetId: adSet.id,
            assetId: dice.pick(assets.filter(({ type }) => type === 'AUDIO')).id,
            companionId: dice.pick(assets.filter(({ type }) => type === 'IMAGE')).id,
            logoId: assets.find(({ type }) => type === 'IMAGE')?.id,
          }),
        );
    }
  }
  return { account, campaigns, adSets, ads, assets, audiences };
}

const genders = ['FEMALE', 'MALE', 'NON_BINARY'] as const;

/** Whom an ad set is for and how often. */
const aim = (dice: Random, country: string, audienceId: string): Pick<AdSet, 'targets' | 'caps'> => ({
  targets: {
    age_ranges: [
      { min: 18, max: 34 },
      { min: 45, max: 54 },
    ],
    geo_targets: { country_code: country, region_ids: ['123', '456'], city_ids: [] },
    genders: dice.chance(0.6) ? [...genders] : ['FEMALE', 'MALE'],
    platforms: ['ANDROID', 'DESKTOP', 'IOS'],
    placements: dice.chance(0.5) ? ['MUSIC', 'PODCAST'] : ['MUSIC'],
    genre_ids: [`genre-${dice.int(9)}`],
    language: 'en',
    audience_ids: dice.chance(0.3) ? [audienceId] : [],
  },
  caps: [{ frequency_unit: 'DAY', frequency_period: 1, max_impressions: 3 + dice.int(5) }],
});
