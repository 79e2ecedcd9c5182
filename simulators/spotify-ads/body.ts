/** What a client sends: read once, numbers exact, and refused with 400 where it is not what it must be. */

import { BadData } from '../../src/core/errors.ts';
import { ExactNumber, parseJson } from '../../src/core/json.ts';
import type { Call } from '../shared/http.ts';
import type { Given } from './make.ts';
import type { Ad, AdSet, Campaign } from './model.ts';
import type { Site } from './site.ts';

export type Body = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The JSON object of a request, with all of `required`. */
export function bodyOf(site: Site, call: Call, required: readonly string[] = []): Body {
  const body = parsed(site, call);
  const missing = required.filter((name) => body[name] === undefined || body[name] === null);
  if (missing.length > 0) throw site.refused(400, `${missing.join(', ')} must not be null`, 'ILLEGAL.BODY');
  return body;
}

const parsed = (site: Site, call: Call): Body => {
  try {
    const value = call.body.length === 0 ? {} : parseJson(call.body);
    if (isObject(value)) return value;
  } catch (cause) {
    if (!(cause instanceof BadData)) throw cause;
  }
  throw site.refused(400, 'the body is no JSON object', 'ILLEGAL.BODY');
};

/** Reads fields of a body; what is absent is undefined, what is of another type is refused. */
const reader = (site: Site, body: Body) => {
  const wrong = (name: string, what: string) => site.refused(400, `${name} must be ${what}`, 'ILLEGAL.BODY');
  const text = (name: string, of: Body = body): string | undefined => {
    const value = of[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw wrong(name, 'a string');
    return value;
  };
  return {
    text,
    /** Micros of any size. */
    micros: (name: string, of: Body = body): bigint | undefined => {
      const value = of[name];
      if (value === undefined || value === null) return undefined;
      const digits = value instanceof ExactNumber ? value.text : String(value);
      if (typeof value === 'string' || !/^\d+$/.test(digits)) throw wrong(name, 'an integer');
      return BigInt(digits);
    },
    instant: (name: string): number | undefined => {
      const value = text(name);
      if (value === undefined) return undefined;
      const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) ? Date.parse(value) : Number.NaN;
      if (Number.isNaN(at)) throw wrong(name, 'an instant in UTC, with Z');
      return at;
    },
    object: (name: string): Body | undefined => {
      const value = body[name];
      if (value === undefined || value === null) return undefined;
      if (!isObject(value)) throw wrong(name, 'an object');
      return value;
    },
    objects: (name: string): readonly Body[] | undefined => {
      const value = body[name];
      if (value === undefined || value === null) return undefined;
      if (!Array.isArray(value) || !value.every(isObject)) throw wrong(name, 'a list of objects');
      return value;
    },
    oneOf: <T extends string>(name: string, choices: readonly T[], of: Body = body): T | undefined => {
      const value = text(name, of);
      const found = choices.find((one) => one === value);
      if (value !== undefined && found === undefined) throw wrong(name, `one of ${choices.join(', ')}`);
      return found;
    },
  };
};

/** A name of 2 to 200 characters; undefined where none is given. */
export const nameOf = (site: Site, body: Body): string | undefined => {
  const name = reader(site, body).text('name');
  if (name !== undefined && !/^\S.{0,198}\S$/su.test(name))
    throw site.refused(400, 'name must have 2 to 200 characters', 'ILLEGAL.NAME');
  return name;
};

const known = (given: object) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

export const campaignFields = (site: Site, body: Body): Given<Campaign> => {
  const read = reader(site, body);
  return known({
    name: nameOf(site, body),
    status: read.oneOf('status', ['ACTIVE', 'PAUSED', 'ARCHIVED']),
    objective: read.text('objective'),
    goal: read.text('delivery_goal_group'),
    purchaseOrder: read.text('purchase_order'),
  });
};

export const adSetFields = (site: Site, body: Body): Given<AdSet> => {
  const read = reader(site, body);
  const budget = read.object('budget');
  return known({
    name: nameOf(site, body),
    status: read.oneOf('status', ['ACTIVE', 'ARCHIVED']),
    start: read.instant('start_time'),
    end: read.instant('end_time'),
    budget: budget && read.micros('micro_amount', budget),
    budgetType: budget && read.oneOf('type', ['DAILY', 'LIFETIME'], budget),
    bid: read.micros('bid_micro_amount'),
    bidStrategy: read.oneOf('bid_strategy', ['COST_PER_RESULT', 'MAX_BID', 'AUTOBID']),
    costModel: read.oneOf('cost_model', ['CPM', 'CPCL']),
    assetFormat: read.oneOf('asset_format', ['AUDIO', 'VIDEO', 'IMAGE', 'CATALOG']),
    category: read.text('category'),
    pacing: read.oneOf('pacing', ['PACING_ASAP', 'PACING_EVEN']),
    delivery: read.oneOf('delivery', ['ON', 'OFF']),
    targets: read.object('targets'),
    caps: read.objects('frequency_caps'),
  });
};

export const adFields = (site: Site, body: Body): Given<Ad> => {
  const read = reader(site, body);
  const assets = read.object('assets');
  const call = read.object('call_to_action');
  return known({
    name: nameOf(site, body),
    status: read.oneOf('status', ['ACTIVE', 'ARCHIVED']),
    assetId: assets && read.text('asset_id', assets),
    companionId: assets && read.text('companion_asset_id', assets),
    logoId: assets && read.text('logo_asset_id', assets),
    tagline: read.text('tagline'),
    advertiser: read.text('advertiser_name'),
    delivery: read.oneOf('delivery', ['ON', 'OFF']),
    callToAction: call && {
      key: read.text('key', call) ?? 'LEARN_MORE',
      url: read.text('clickthrough_url', call) ?? '',
    },
  });
};

export const textIn = (site: Site, body: Body, name: string): string | undefined =>
  reader(site, body).text(name);
export const choiceIn = <T extends string>(
  site: Site,
  body: Body,
  name: string,
  choices: readonly T[],
): T | undefined => reader(site, body).oneOf(name, choices);
