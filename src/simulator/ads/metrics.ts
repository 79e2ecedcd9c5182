/**
 * The numbers: a pure function of seed, ad, day and the clock. They grow for three days after the day (late conversions), are corrected once
 * more on the tenth, and then stand still. Ads add up to ad sets, campaigns and accounts; reach does not.
 */

import { mix } from '../shared/random.ts';
import type { Ad, Level } from './model.ts';
import type { AdsState } from './state.ts';

const day = 86_400_000;

/** Sums of some ads and days. Money in micros. */
export interface Sums {
  readonly impressions: number;
  readonly clicks: number;
  readonly starts: number;
  readonly completes: number;
  readonly leads: number;
  readonly spend: bigint;
  readonly reach: number;
}

const nothing: Sums = { impressions: 0, clicks: 0, starts: 0, completes: 0, leads: 0, spend: 0n, reach: 0 };

const add = (a: Sums, b: Sums): Sums => ({
  impressions: a.impressions + b.impressions,
  clicks: a.clicks + b.clicks,
  starts: a.starts + b.starts,
  completes: a.completes + b.completes,
  leads: a.leads + b.leads,
  spend: a.spend + b.spend,
  // Who hears two ads is one listener: fewer than the sum.
  reach: a.reach + Math.ceil(b.reach * 0.8),
});

/** How much of a day's final number is told so many whole days after its end, in thousandths. */
const toldAfter = (age: number): number => (age < 3 ? 900 + 30 * age : age < 10 ? 990 : 1000);

const seedOf = (id: string): number => Number.parseInt(id.slice(0, 8), 16);

/** One ad's numbers of one day (its midnight, epoch ms); undefined where it did not deliver. */
export function adDay(state: AdsState, ad: Ad, at: number): Sums | undefined {
  if (at + day <= ad.createdAt || at > state.clock.now().getTime()) return undefined;
  const dice = mix(mix(state.seed, seedOf(ad.id)), at / day);
  if (dice % 10 === 0) return undefined;
  const age = Math.max(0, Math.floor((state.clock.now().getTime() - at) / day) - 1);
  const share = toldAfter(age);
  const impressions = Math.floor(((500 + (dice % 4_000)) * share) / 1000);
  return {
    impressions,
    clicks: Math.floor(impressions / (60 + (dice % 40))),
    starts: Math.floor(impressions * 0.97),
    completes: Math.floor(impressions * 0.8),
    leads: (dice >>> 8) % 7,
    // Not a multiple of anything: every digit counts.
    spend: (BigInt(5_000_000 + (dice % 30_000_000)) * BigInt(share)) / 1000n,
    reach: Math.floor(impressions * 0.6),
  };
}

/** The ads below an entity. */
export function adsBelow(state: AdsState, level: Level, id: string): readonly Ad[] {
  const found = below.get(state)?.get(`${level} ${id}`);
  if (found !== undefined && found.of === state.ads.size) return found.ads;
  const ads = [...state.ads.values()].filter((ad) => {
    if (level === 'AD') return ad.id === id;
    if (level === 'AD_SET') return ad.adSetId === id;
    if (level === 'AD_ACCOUNT') return ad.accountId === id;
    return state.adSets.get(ad.adSetId)?.campaignId === id;
  });
  const known = below.get(state) ?? new Map<string, { of: number; ads: readonly Ad[] }>();
  known.set(`${level} ${id}`, { of: state.ads.size, ads });
  below.set(state, known);
  return ads;
}
const below = new WeakMap<AdsState, Map<string, { of: number; ads: readonly Ad[] }>>();

/** The sums of an entity over days `[from, to)`; undefined where none of its ads delivered. */
export function sumsOf(state: AdsState, level: Level, id: string, from: number, to: number): Sums | undefined {
  let sum: Sums | undefined;
  for (const ad of adsBelow(state, level, id))
    for (let at = from; at < to; at += day) {
      const one = adDay(state, ad, at);
      if (one !== undefined) sum = sum === undefined ? one : add(sum, one);
    }
  return sum;
}

/** An hour's part of a day: a twenty-fourth, the last hour takes the rest. Hours that are not over have nothing. */
export function hourOf(sums: Sums, hour: number): Sums {
  const part = (whole: number): number => (hour < 23 ? Math.floor(whole / 24) : whole - 23 * Math.floor(whole / 24));
  return {
    impressions: part(sums.impressions),
    clicks: part(sums.clicks),
    starts: part(sums.starts),
    completes: part(sums.completes),
    leads: part(sums.leads),
    spend: hour < 23 ? sums.spend / 24n : sums.spend - 23n * (sums.spend / 24n),
    reach: part(sums.reach),
  };
}

/** Micros as decimal text in units. */
export const units = (micros: bigint): string => {
  const digits = (micros < 0n ? -micros : micros).toString().padStart(7, '0');
  return `${micros < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
};

/** The metrics that are known, as JSON number text; a conversion count of 1 to 4 is hidden as -5. */
export const fieldsOf = (sums: Sums = nothing): Readonly<Record<string, string>> => ({
  SPEND: units(sums.spend),
  IMPRESSIONS: `${sums.impressions}.0`,
  CLICKS: `${sums.clicks}.0`,
  STARTS: `${sums.starts}.0`,
  COMPLETES: `${sums.completes}.0`,
  REACH: `${sums.reach}.0`,
  FREQUENCY: sums.reach === 0 ? '0.0' : (sums.impressions / sums.reach).toFixed(4),
  LEADS: sums.leads >= 1 && sums.leads <= 4 ? '-5' : `${sums.leads}.0`,
});

/** What all ads together spent on all days that are over, as told now, and how many days of ads have numbers. */
export function spentByDay(state: AdsState): { readonly days: number; readonly micros: bigint } {
  const today = Math.floor(state.clock.now().getTime() / day) * day;
  let days = 0;
  let micros = 0n;
  for (const ad of state.ads.values())
    for (let at = Math.floor(ad.createdAt / day) * day; at < today; at += day) {
      const sums = adDay(state, ad, at);
      if (sums === undefined) continue;
      const told = state.told.get(`AD ${ad.id} ${new Date(at).toISOString().slice(0, 10)}`)?.get('SPEND');
      days += 1;
      micros += told === undefined ? sums.spend : microsOf(told);
    }
  return { days, micros };
}

/** Units with up to six digits behind the point, in micros. */
const microsOf = (text: string): bigint => {
  const [whole = '0', rest = ''] = text.split('.');
  return BigInt(whole + rest.padEnd(6, '0').slice(0, 6));
};
