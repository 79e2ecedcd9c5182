/**
 * The numbers: a pure function of seed, ad, day and the clock. They grow for three days after the day (late conversions), are corrected once
 * more on the tenth, and then stand still. Ads add up to ad sets, campaigns and accounts, hours to days, days to lifetimes; people do not.
 */

import { mix } from '../shared/random.ts';
import { microsOf } from './fields.ts';
import type { Ad, Level, Pause } from './model.ts';
import type { AdsState } from './state.ts';
import { counted, type Sums, together } from './sums.ts';

export { fieldsOf, units } from './fields.ts';

const day = 86_400_000;
const minute = 60_000;

/** The part of a day's final number that is reported at an age of whole days after its end, in thousandths. */
const reportedAfter = (age: number): number => (age < 3 ? 900 + 30 * age : age < 10 ? 990 : 1000);

/** How much is played in each hour of a day, and in all hours before it. */
const busy = [3, 2, 1, 1, 2, 4, 8, 12, 14, 13, 12, 12, 13, 12, 12, 13, 15, 17, 16, 14, 12, 10, 8, 5];
const before = busy.map((_, index) => busy.slice(0, index).reduce((sum, one) => sum + one, 0));
const whole = busy.reduce((sum, one) => sum + one, 0) * 60;

/** The part of a day that is played in its first minutes, of `whole`. */
const playedBy = (minutes: number): number => {
  const h = Math.min(23, Math.floor(minutes / 60));
  return Math.min(whole, (before[h] ?? 0) * 60 + (busy[h] ?? 0) * (minutes - h * 60));
};

const seedOf = (id: string): number => Number.parseInt(id.slice(0, 8), 16);

const within = (pauses: readonly Pause[], at: number): boolean =>
  pauses.some(({ from, to }) => from <= at && (to === undefined || to >= at + day));

/** Whether an ad delivered on a day: it or something above it may have been paused, from midnight to midnight. */
const delivered = (state: AdsState, ad: Ad, at: number): boolean => {
  if (ad.pauses.length > 0 && within(ad.pauses, at)) return false;
  const adSet = state.adSets.get(ad.adSetId);
  if (adSet === undefined) return true;
  if (adSet.pauses.length > 0 && within(adSet.pauses, at)) return false;
  const above = state.campaigns.get(adSet.campaignId)?.pauses ?? [];
  return above.length === 0 || !within(above, at);
};

/** In thousandths of the impressions, in the order of `counted`; the conversions behind them are drawn. */
const shares: readonly number[] = [1000, 0, 970, 930, 890, 850, 800, 60, 90, 400, 35, 25, 8, 300, 12, 20];
const clicks = counted.indexOf('CLICKS');
const purchases = counted.indexOf('PURCHASES');

/** One ad's numbers of one whole day (its midnight, epoch ms), as reported now; undefined where it did not deliver. */
function wholeDay(state: AdsState, ad: Ad, at: number, now: number): Sums | undefined {
  if (at + day <= ad.createdAt || at >= now || !delivered(state, ad, at)) return undefined;
  const own = seedOf(ad.id);
  const dice = mix(mix(state.seed, own), at / day);
  if (dice % 10 === 0) return undefined;
  const share = reportedAfter(Math.max(0, Math.floor((now - at) / day) - 1));
  const size = 1 + (own % 5);
  const impressions = Math.floor(((500 + (dice % 4_000)) * size * share) / 1000);
  const counts: number[] = new Array(counted.length);
  for (let i = 0; i < shares.length; i += 1) counts[i] = Math.floor((impressions * (shares[i] ?? 0)) / 1000);
  counts[clicks] = Math.floor(impressions / (60 + (dice % 40)));
  // Few enough that some are hidden.
  for (let i = shares.length; i < counts.length; i += 1)
    counts[i] = Math.floor((((dice >>> ((i * 5) % 27)) & 15) * share) / 1000);
  const heads = [600, 450, 20, 30].map((part) => Math.ceil((impressions * part) / 1000));
  const sums: Sums = {
    counts,
    heads,
    // Not a multiple of anything: every digit counts.
    spend: (BigInt((5_000_000 + (dice % 30_000_000)) * size) * BigInt(share)) / 1000n,
    revenue: BigInt(counts[purchases] ?? 0) * BigInt(9_990_001 + (own % 90_000_000)),
  };
  if (state.corrections.size > 0) correct(state, ad, at, sums);
  return sums;
}

/** Puts in what was corrected by hand, for good. */
function correct(state: AdsState, ad: Ad, at: number, sums: Sums): void {
  const more = state.corrections.get(ad.id)?.get(at);
  if (more === undefined) return;
  sums.spend += more.spend;
  sums.revenue += more.revenue;
  for (const [index, name] of counted.entries())
    sums.counts[index] = Math.max(0, (sums.counts[index] ?? 0) + (more.counts[name] ?? 0));
}

/** What of a day is played from one minute of it to another. Parts that follow each other add up to the day, people excepted. */
function partOf(sums: Sums, from: number, to: number): Sums | undefined {
  const a = playedBy(from);
  const b = playedBy(to);
  if (b <= a) return undefined;
  const part = (total: number): number => Math.floor((total * b) / whole) - Math.floor((total * a) / whole);
  const money = (total: bigint): bigint =>
    (total * BigInt(b)) / BigInt(whole) - (total * BigInt(a)) / BigInt(whole);
  const heads = sums.heads.map((total) => Math.min(total, Math.ceil((total * (b - a) * 2) / whole)));
  return {
    counts: sums.counts.map(part),
    heads,
    spend: money(sums.spend),
    revenue: money(sums.revenue),
  };
}

const minutesOf = (midnight: number, now: number): number =>
  Math.min(1440, Math.floor((now - midnight) / minute));

/** One ad's numbers of one day (its midnight, epoch ms), as reported now: of today, what is played so far. Undefined where there are none. */
export function adDay(state: AdsState, ad: Ad, at: number): Sums | undefined {
  const now = state.clock.now().getTime();
  const sums = wholeDay(state, ad, at, now);
  return sums === undefined || now >= at + day ? sums : partOf(sums, 0, minutesOf(at, now));
}

/** One ad's numbers of one hour (its beginning, epoch ms), as reported now. The hours of a day add up to it. Undefined where there are none. */
export function adHour(state: AdsState, ad: Ad, at: number): Sums | undefined {
  const now = state.clock.now().getTime();
  const midnight = Math.floor(at / day) * day;
  const sums = wholeDay(state, ad, midnight, now);
  const from = (at - midnight) / minute;
  return sums === undefined ? undefined : partOf(sums, from, Math.min(from + 60, minutesOf(midnight, now)));
}

/** The ads below an entity. */
export function adsBelow(state: AdsState, level: Level, id: string): readonly Ad[] {
  const known = below.get(state);
  if (known !== undefined && known.of === state.ads.size) return known.ads.get(`${level} ${id}`) ?? [];
  const ads = new Map<string, Ad[]>();
  const put = (key: string, ad: Ad): void => {
    const list = ads.get(key);
    if (list === undefined) ads.set(key, [ad]);
    else list.push(ad);
  };
  for (const ad of state.ads.values()) {
    put(`AD ${ad.id}`, ad);
    put(`AD_SET ${ad.adSetId}`, ad);
    put(`CAMPAIGN ${state.adSets.get(ad.adSetId)?.campaignId ?? ''}`, ad);
    put(`AD_ACCOUNT ${ad.accountId}`, ad);
  }
  below.set(state, { of: state.ads.size, ads });
  return ads.get(`${level} ${id}`) ?? [];
}
const below = new WeakMap<
  AdsState,
  { readonly of: number; readonly ads: ReadonlyMap<string, readonly Ad[]> }
>();

/** The numbers of an entity, made of those of its ads; undefined where none of them has any. */
const ofAds = (state: AdsState, level: Level, id: string, of: (ad: Ad) => Sums | undefined) =>
  together(adsBelow(state, level, id).flatMap((ad) => of(ad) ?? []));

/** The sums of an entity over days `[from, to)`; undefined where none of its ads delivered. */
export function sumsOf(
  state: AdsState,
  level: Level,
  id: string,
  from: number,
  to: number,
): Sums | undefined {
  const days: (Sums | undefined)[] = [];
  for (let at = from; at < to; at += day) days.push(ofAds(state, level, id, (ad) => adDay(state, ad, at)));
  return together(days.filter((sums) => sums !== undefined));
}

/** The sums of an entity over one hour. */
export const hourOf = (state: AdsState, level: Level, id: string, at: number): Sums | undefined =>
  ofAds(state, level, id, (ad) => adHour(state, ad, at));

/** The sums of an entity over its life. */
export const lifetimeOf = (state: AdsState, level: Level, id: string): Sums | undefined => {
  const ads = adsBelow(state, level, id);
  const first = ads.reduce(
    (earliest, { createdAt }) => Math.min(earliest, createdAt),
    Number.POSITIVE_INFINITY,
  );
  return sumsOf(state, level, id, Math.floor(first / day) * day, state.clock.now().getTime());
};

/** What ads spent on all days that are over, as reported now, by currency in its order, and how many days of ads have numbers. */
export function spentByDay(state: AdsState): {
  readonly days: number;
  readonly micros: ReadonlyMap<string, bigint>;
} {
  const today = Math.floor(state.clock.now().getTime() / day) * day;
  let days = 0;
  const spent = new Map<string, bigint>();
  for (const ad of state.ads.values()) {
    const currency = state.accounts.get(ad.accountId)?.currency ?? '';
    for (let at = Math.floor(ad.createdAt / day) * day; at < today; at += day) {
      const sums = adDay(state, ad, at);
      if (sums === undefined) continue;
      const reported = state.reported
        .get(`AD ${ad.id} ${new Date(at).toISOString().slice(0, 10)}`)
        ?.get('SPEND');
      days += 1;
      const micros = reported === undefined ? sums.spend : microsOf(reported);
      spent.set(currency, (spent.get(currency) ?? 0n) + micros);
    }
  }
  return { days, micros: new Map([...spent].sort()) };
}
