/** What a warehouse must hold, exactly: amounts as bigint micros, metrics as the JSON text that is reported. */

import { metrics } from './fields.ts';
import { hourOf, lifetimeOf, sumsOf } from './metrics.ts';
import type {
  Account,
  Ad,
  AdSet,
  Asset,
  Audience,
  Business,
  Campaign,
  Change,
  Draft,
  Level,
} from './model.ts';
import type { AdsState } from './state.ts';
import type { Sums } from './sums.ts';

const day = 86_400_000;
const hour = 3_600_000;

/** One row of a report: what every metric is reported as. */
export interface TrueRow {
  readonly level: Level;
  readonly id: string;
  readonly accountId: string;
  /** Its beginning; of a lifetime: none. */
  readonly start: Date | undefined;
  /** By the vendor's names, JSON number text: units of the currency where it is money, `-5` where it is hidden. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface AdsTruth {
  readonly businesses: readonly Business[];
  /** By id, as are all others. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly campaigns: ReadonlyMap<string, Campaign>;
  readonly adSets: ReadonlyMap<string, AdSet>;
  readonly ads: ReadonlyMap<string, Ad>;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly audiences: ReadonlyMap<string, Audience>;
  readonly drafts: ReadonlyMap<string, Draft>;
  readonly changes: readonly Change[];
  /** Rows by day of all entities of a level, `[from, to)`, midnights. Told by the clock at the time they are taken. */
  days(level: Level, from: Date, to: Date): Generator<TrueRow>;
  /** Rows by hour, `[from, to)`. */
  hours(level: Level, from: Date, to: Date): Generator<TrueRow>;
  lifetimes(level: Level): Generator<TrueRow>;
  /** One row by day; undefined where there is none. */
  day(level: Level, id: string, date: string): TrueRow | undefined;
}

const own = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
  new Map([...all].map(([id, one]) => [id, structuredClone(one)]));

/** Takes the lists down as they are. Reports are worked out row by row: nothing of them is held. */
export const adsTruth = (state: AdsState): AdsTruth => {
  const reported = (
    level: Level,
    id: string,
    key: string | undefined,
    sums: Sums,
  ): ReadonlyMap<string, string> => {
    const fields = new Map([...metrics].map(([name, tell]) => [name, tell(sums)]));
    const otherwise = key === undefined ? undefined : state.reported.get(`${level} ${id} ${key}`);
    for (const [name, text] of otherwise ?? []) fields.set(name, text);
    return fields;
  };
  const rowOf = (level: Level, id: string, at: number, length: number): TrueRow | undefined => {
    const start = new Date(at);
    const sums = length === day ? sumsOf(state, level, id, at, at + day) : hourOf(state, level, id, at);
    const key = start.toISOString().slice(0, length === day ? 10 : 13);
    return sums === undefined
      ? undefined
      : { level, id, accountId: accountOf(state, level, id), start, fields: reported(level, id, key, sums) };
  };
  function* rows(level: Level, from: Date, to: Date, length: number): Generator<TrueRow> {
    for (const id of entitiesOf(state, level))
      for (let at = from.getTime(); at < to.getTime(); at += length) {
        const row = rowOf(level, id, at, length);
        if (row !== undefined) yield row;
      }
  }
  return {
    businesses: structuredClone(state.businesses),
    accounts: own(state.accounts),
    campaigns: own(state.campaigns),
    adSets: own(state.adSets),
    ads: own(state.ads),
    assets: own(state.assets),
    audiences: own(state.audiences),
    drafts: own(state.drafts),
    changes: structuredClone(state.changes),
    days: (level, from, to) => rows(level, from, to, day),
    hours: (level, from, to) => rows(level, from, to, hour),
    *lifetimes(level) {
      for (const id of entitiesOf(state, level)) {
        const sums = lifetimeOf(state, level, id);
        if (sums === undefined) continue;
        const fields = reported(level, id, undefined, sums);
        yield { level, id, accountId: accountOf(state, level, id), start: undefined, fields };
      }
    },
    day: (level, id, date) => rowOf(level, id, Date.parse(`${date}T00:00:00Z`), day),
  };
};

const mapOf = (state: AdsState, level: Level) =>
  ({ AD_ACCOUNT: state.accounts, CAMPAIGN: state.campaigns, AD_SET: state.adSets, AD: state.ads })[level];

const entitiesOf = (state: AdsState, level: Level): readonly string[] => [...mapOf(state, level).keys()];

const accountOf = (state: AdsState, level: Level, id: string): string => {
  if (level === 'AD_ACCOUNT') return id;
  const of = { CAMPAIGN: state.campaigns, AD_SET: state.adSets, AD: state.ads }[level];
  return of.get(id)?.accountId ?? '';
};
