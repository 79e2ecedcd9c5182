/** Lists: what they hold, how they are filtered, ordered and cut into pages (vendor-facts 2.1). */

import type { Answer, Call, Route } from '../shared/http.ts';
import * as json from './json.ts';
import type { Account, Draft } from './model.ts';
import type { Site } from './site.ts';

/** A field that a list can be ordered by. */
type Sort<T> = (one: T) => string | number | bigint;

export interface Listed<T> {
  /** Of the list in its envelope. */
  readonly key: string;
  readonly of: (owner: Account) => readonly T[];
  readonly write: (one: T) => unknown;
  readonly sorts: Readonly<Record<string, Sort<T>>>;
  /** Default: the first of `sorts`. */
  readonly sort?: string;
  /** Query parameters and what they let through: one that is given several times lets through what fits any of its values. */
  readonly filters: Readonly<Record<string, (one: T, value: string) => boolean>>;
}

/** Lists of values are repeated parameters: several in one are no id. */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

const isIn = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase());

interface Dated {
  readonly id: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly name: string;
  readonly status: string;
}

const created = { CREATED_AT: (one: Dated) => one.createdAt };
const common = {
  ...created,
  UPDATED_AT: (one: Dated) => one.updatedAt,
  NAME: (one: Dated) => one.name,
  STATUS: (one: Dated) => one.status,
};
const named = {
  name: (one: Dated, value: string) => isIn(one.name, value),
  statuses: (one: Dated, value: string) => one.status === value,
};
const byId = (one: { readonly id: string }, value: string): boolean => one.id === value.toLowerCase();

const list = <T>(site: Site, path: string, listed: Listed<T>, inContract = true): Route => ({
  method: 'GET',
  path: `/ad_accounts/{id}/${path}`,
  inContract,
  handle: (call) => {
    const { unlisted } = site.state;
    const all = listed.of(site.owner(call));
    const shown =
      unlisted.size === 0 ? all : all.filter((one) => !unlisted.has(String(Reflect.get(Object(one), 'id'))));
    return page(site, call, listed, shown);
  },
});

/** One page of a list. Throws 400 for a limit outside 1 to 50, a strange offset, direction or field. */
export function page<T>(site: Site, call: Call, listed: Listed<T>, all: readonly T[]): Answer {
  const { query } = call;
  const limit = site.limit(query);
  const offset = query.get('offset') ?? '0';
  if (!/^\d{1,9}$/.test(offset))
    throw site.refused(400, `offset must be 0 or more, not ${offset}`, 'ILLEGAL.OFFSET');
  const direction = query.get('sort_direction') ?? 'DESC';
  if (direction !== 'ASC' && direction !== 'DESC')
    throw site.refused(400, `sort_direction must be ASC or DESC, not ${direction}`, 'ILLEGAL.SORT_DIRECTION');
  const wanted = query.get('sort_field') ?? listed.sort ?? Object.keys(listed.sorts)[0] ?? '';
  const sort = Object.hasOwn(listed.sorts, wanted) ? listed.sorts[wanted] : undefined;
  if (sort === undefined && query.has('sort_field'))
    throw site.refused(
      400,
      `sort_field ${wanted} is not one of ${Object.keys(listed.sorts)}`,
      'ILLEGAL.SORT_FIELD',
    );
  const filters = Object.entries(listed.filters).flatMap(([name, fits]) => {
    const values = query.getAll(name);
    const strange = name.endsWith('_ids') ? values.find((value) => !isUuid(value)) : undefined;
    if (strange !== undefined) throw site.refused(400, `${name}: ${strange} is not a UUID`, 'ILLEGAL.ID');
    return values.length === 0 ? [] : [(one: T) => values.some((value) => fits(one, value))];
  });
  const found = filters.length === 0 ? [...all] : all.filter((one) => filters.every((fits) => fits(one)));
  // What is equal stays in the order in which it was made, or the other way round.
  const order = (a: T, b: T): number => {
    if (sort === undefined) return 0;
    const x = sort(a);
    const y = sort(b);
    return x < y ? -1 : x > y ? 1 : 0;
  };
  found.sort(order);
  if (direction === 'DESC') found.reverse();
  const at = Number(offset);
  const paging = {
    page_size: limit,
    total_results: found.length,
    offset: at,
    ...(site.vendor && { current_page: Math.floor(at / limit) + 1 }),
  };
  return site.json({
    ...(site.paging && { paging }),
    [site.listKey(listed.key)]: found.slice(at, at + limit).map(listed.write),
  });
}

/** Every list of an account. */
export const listRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  const of = <T extends { readonly accountId: string }>(all: ReadonlyMap<string, T>) => {
    return (owner: Account): readonly T[] => [...all.values()].filter((one) => one.accountId === owner.id);
  };
  const drafts = <K extends Draft['kind']>(kind: K) => {
    return (owner: Account): readonly Of<K>[] =>
      [...state.drafts.values()].flatMap((one) =>
        isOf(one, kind) && one.of.accountId === owner.id ? [one] : [],
      );
  };
  const write = (one: Draft): unknown => json.draft(state, one);
  const status = (one: Draft, value: string): boolean => one.of.status === value;
  const campaignOf = (one: { readonly adSetId: string }): string =>
    state.adSets.get(one.adSetId)?.campaignId ?? '';
  return [
    list(site, 'campaigns', {
      key: 'campaigns',
      of: of(state.campaigns),
      write: json.campaign,
      sorts: { ...common, ID: (one) => one.id },
      filters: {
        ...named,
        campaign_ids: byId,
        ad_set_statuses: (one, value) =>
          [...state.adSets.values()].some((each) => each.campaignId === one.id && each.status === value),
      },
    }),
    list(site, 'ads', {
      key: 'ads',
      of: of(state.ads),
      write: json.ad,
      sorts: { ...common, ID: (one) => one.id },
      filters: {
        ...named,
        ad_set_ids: (one, value) => one.adSetId === value,
        asset_ids: (one, value) => [one.assetId, one.companionId, one.logoId].includes(value),
        campaign_ids: (one, value) => campaignOf(one) === value,
      },
    }),
    list(site, 'assets', {
      key: 'assets',
      of: of(state.assets),
      write: json.asset,
      sorts: { ...created, NAME: (one) => one.name },
      filters: { ...named, asset_ids: byId, asset_types: (one, value) => one.type === value },
    }),
    list(site, 'audiences', {
      key: 'audiences',
      of: of(state.audiences),
      write: json.audience,
      sorts: { UPDATED_AT: (one) => one.updatedAt, NAME: (one) => one.name },
      filters: {
        audience_ids: byId,
        audience_types: (one, value) => one.type === value,
        q: (one, value) => isIn(one.name, value),
      },
    }),
    list<Of<'campaign'>>(site, 'drafts/campaigns', {
      key: 'campaign_drafts',
      of: drafts('campaign'),
      write,
      sorts: {
        CREATED_AT: ({ of }) => of.createdAt,
        UPDATED_AT: ({ of }) => of.updatedAt,
        NAME: ({ of }) => of.name,
        STATUS: ({ of }) => of.status,
        ID: ({ of }) => of.id,
      },
      filters: { campaign_ids: (one, value) => one.of.id === value, statuses: status },
    }),
    list<Of<'ad_set'>>(site, 'drafts/ad_sets', {
      key: 'ad_set_drafts',
      of: drafts('ad_set'),
      write,
      sorts: {},
      filters: { campaign_ids: (one, value) => one.of.campaignId === value, statuses: status },
    }),
    list<Of<'ad'>>(site, 'drafts/ads', {
      key: 'ad_drafts',
      of: drafts('ad'),
      write,
      sorts: {},
      filters: { ad_set_ids: (one, value) => one.of.adSetId === value, statuses: status },
    }),
    ...(site.vendor ? vendorOnly(site) : []),
  ];
};

type Of<K extends Draft['kind']> = Extract<Draft, { kind: K }>;

const isOf = <K extends Draft['kind']>(draft: Draft, kind: K): draft is Of<K> => draft.kind === kind;

const historyDays = 180;

/** Lists that the contract does not have. */
const vendorOnly = (site: Site): readonly Route[] => {
  const { state } = site;
  return [
    list(
      site,
      'ad_sets',
      {
        key: 'ad_sets',
        of: (owner) => [...state.adSets.values()].filter((one) => one.accountId === owner.id),
        write: (one) => json.adSet(state, one),
        sorts: {
          ...common,
          BUDGET: (one) => one.budget,
          START_DATE_TIME: (one) => one.start,
          END_DATE_TIME: (one) => one.end ?? Number.MAX_SAFE_INTEGER,
        },
        filters: { ...named, campaign_ids: (one, value) => one.campaignId === value },
      },
      false,
    ),
    list(
      site,
      'change_history',
      {
        key: 'change_history',
        of: (owner) => {
          const oldest = state.clock.now().getTime() - historyDays * 86_400_000;
          return state.changes.filter((one) => one.accountId === owner.id && one.at >= oldest);
        },
        write: json.change,
        sorts: {
          TIMESTAMP: (one) => one.at,
          ENTITY_TYPE: (one) => one.entityType,
          PRINCIPAL_TYPE: () => 'USER',
        },
        filters: {
          entity_type: (one, value) => one.entityType === value,
          entity_ids: (one, value) => one.entityId === value,
          entity_name: (one, value) => isIn(one.entityName, value),
          change_ids: byId,
          change_category: (one, value) => one.category === value,
          created_gte: (one, value) => one.at >= Date.parse(value),
          created_lte: (one, value) => one.at <= Date.parse(value),
        },
      },
      false,
    ),
  ];
};
