/** Whether the histories that the warehouse keeps of the ads tell exactly what changed in it. */

import { metricsOf } from '../../src/connectors/spotify-ads/metrics.ts';
import type { Rig } from './rig.ts';

type Rows = Rig['rows'];

/** The tables whose numbers are noted before they are restated. */
const revised = [
  {
    table: 'report_daily',
    into: 'report_revisions',
    report: 'aggregate',
    key: ['entity_type', 'entity_id', 'day'],
  },
  {
    table: 'report_hourly',
    into: 'report_hourly_revisions',
    report: 'aggregate',
    key: ['entity_type', 'entity_id', 'hour_start'],
  },
  {
    table: 'report_csv',
    into: 'report_csv_revisions',
    report: 'csv',
    key: ['ad_account_id', 'day', 'campaign_name', 'ad_set_name', 'ad_name', 'occurrence'],
  },
] as const;

const versioned = [
  { table: 'campaigns', into: 'campaign_versions', columns: ['name', 'status', 'objective'] },
  {
    table: 'ad_sets',
    into: 'ad_set_versions',
    columns: ['status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'],
  },
] as const;

type Revised = (typeof revised)[number];
type Versioned = (typeof versioned)[number];

/** Rows of numbers by key. */
type Numbers = ReadonlyMap<string, { readonly period: string; readonly numbers: string }>;

/** What a warehouse held at a moment. */
export interface Before {
  /** By table. */
  readonly numbers: ReadonlyMap<string, Numbers>;
  /** How many revisions there were, by table. */
  readonly revisions: ReadonlyMap<string, number>;
  /** Versions by table, without their ends. */
  readonly versions: ReadonlyMap<string, ReadonlySet<string>>;
}

const nothing: Before = { numbers: new Map(), revisions: new Map(), versions: new Map() };

export async function beforeOf(rows: Rows): Promise<Before> {
  const numbers = new Map<string, Numbers>();
  const revisions = new Map<string, number>();
  const versions = new Map<string, ReadonlySet<string>>();
  for (const one of revised) {
    numbers.set(one.table, await numbersOf(rows, one));
    const [count] = await rows<{ n: string }>(`select count(*)::text as n from ads.${one.into}`);
    revisions.set(one.into, Number(count?.n));
  }
  for (const one of versioned) versions.set(one.into, await versionsOf(rows, one));
  return { numbers, revisions, versions };
}

/** The columns whose numbers are noted. */
const metricsIn = ({ report }: Revised): readonly string[] => metricsOf(report).map(({ column }) => column);

/** What says for what time of whose level a row speaks: rows of a time that was not read before are no news. */
const periodOf = ({ key }: Revised): string =>
  [
    'ad_account_id',
    ...key.filter((name) => name === 'entity_type' || name === 'day' || name === 'hour_start'),
  ].join(', ');

/** Rows are compared as texts first: there are many, and few of them change. */
async function numbersOf(rows: Rows, one: Revised): Promise<Numbers> {
  const found = await rows<{ key: string; period: string; numbers: string }>(
    `select ${textOf(one.key)} as key, concat_ws(' ', ${periodOf(one)}) as period,
       array[${metricsIn(one)
         .map((name) => `trim_scale(${name})`)
         .join(', ')}]::text as numbers
     from ads.${one.table}`,
  );
  return new Map(found.map((row) => [row.key, row]));
}

const textOf = (key: readonly string[]): string => `concat_ws(' ', ${key.join(', ')})`;

/** Of an array of numbers as Postgres writes it. */
const cellsOf = (text: string | undefined): readonly (string | null)[] =>
  text === undefined
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map((one) => (one === 'NULL' ? null : one));

const versionsOf = async (rows: Rows, { into, columns }: Versioned): Promise<ReadonlySet<string>> => {
  const found = await rows<{ line: string }>(
    `select row(id, valid_from, ${columns.join(', ')})::text as line from ads.${into}`,
  );
  return new Set(found.map(({ line }) => line));
};

interface Revision {
  readonly key: string;
  readonly metric: string;
  readonly old_value: string | null;
  readonly new_value: string | null;
}

/**
 * One line for everything that the histories tell wrongly of what became of `before` (undefined: of nothing): a number that changed without a
 * revision, a revision without its change, one told twice; a version that is not the row's, that left, or that follows its equal.
 */
export async function adsBooks(rows: Rows, before: Before = nothing): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const one of revised) lines.push(...(await revisionsTell(rows, one, before)));
  for (const one of versioned) lines.push(...(await versionsTell(rows, one, before)));
  return lines;
}

async function revisionsTell(rows: Rows, one: Revised, before: Before): Promise<readonly string[]> {
  const { table, into } = one;
  const columns = metricsIn(one);
  const old: Numbers = before.numbers.get(table) ?? new Map();
  const now = await numbersOf(rows, one);
  // A day that is read for the first time has nothing to be noted; a row that comes late to a day already read has.
  const known = new Set([...old.values()].map(({ period }) => period));
  const told = Map.groupBy(await since(rows, one, before), ({ key }) => key);
  const lines: string[] = [];
  for (const key of new Set([...old.keys(), ...now.keys()])) {
    const was = old.get(key);
    const is = now.get(key);
    const revisions = told.get(key) ?? [];
    told.delete(key);
    if (revisions.length === 0 && was?.numbers === is?.numbers) continue;
    if (was === undefined && is !== undefined && !known.has(is.period)) {
      if (revisions.length > 0) lines.push(`${into} ${key}: told of a time that was read for the first time`);
      continue;
    }
    const from = cellsOf(was?.numbers);
    const to = cellsOf(is?.numbers);
    columns.forEach((metric, place) => {
      const ofMetric = revisions.filter((revision) => revision.metric === metric);
      lines.push(...chained(`${into} ${key} ${metric}`, from[place] ?? null, to[place] ?? null, ofMetric));
    });
    const strange = revisions.filter(({ metric }) => !columns.includes(metric));
    lines.push(...strange.map(({ metric }) => `${into} ${key}: told of ${metric}, which is no column`));
  }
  for (const key of told.keys()) lines.push(`${into} ${key}: told of a row that never was`);
  return lines;
}

/** The revisions lead from the old number to the new one, each from what the one before it led to, and none twice. */
function chained(
  name: string,
  was: string | null,
  is: string | null,
  revisions: readonly Revision[],
): string[] {
  let at = was;
  const lines: string[] = [];
  for (const { old_value, new_value } of revisions) {
    if (old_value === new_value) lines.push(`${name}: told of no change (${old_value})`);
    if (old_value !== at) lines.push(`${name}: told of ${old_value}, it was ${at}`);
    at = new_value;
  }
  if (at !== is) lines.push(`${name}: was ${was}, is ${is}, told ${revisions.length} times, last as ${at}`);
  return lines;
}

/** Revisions behind the first so many, in the order in which they were seen. */
const since = (rows: Rows, { into, key }: Revised, before: Before): Promise<readonly Revision[]> =>
  rows<Revision>(
    `select ${textOf(key)} as key, metric, trim_scale(old_value)::text as old_value, trim_scale(new_value)::text as new_value
     from ads.${into} order by seen_at, _run_id offset ${before.revisions.get(into) ?? 0}`,
  );

async function versionsTell(rows: Rows, one: Versioned, before: Before): Promise<readonly string[]> {
  const { table, into, columns } = one;
  const list = (of: string): string => columns.map((name) => `${of}.${name}`).join(', ');
  const wrong = await rows<{ line: string }>(
    `select t.id || ': its open version is not what it is' as line from ads.${table} t
       left join ads.${into} v on v.source_id = t.source_id and v.id = t.id and v.valid_to is null
       where v.id is null or (${list('t')}) is distinct from (${list('v')})
     union all select id || ': has ' || count(*) || ' open versions' from ads.${into}
       where valid_to is null group by id having count(*) > 1
     union all select v.id || ': its versions do not follow each other' from (
         select *, lead(valid_from) over w as next_from, lead(row(${columns.join(', ')})) over w as next
         from ads.${into} v window w as (partition by source_id, id order by valid_from)) v
       where valid_to is distinct from next_from or next = row(${list('v')})`,
  );
  const there = await versionsOf(rows, one);
  const gone = [...(before.versions.get(into) ?? [])].filter((line) => !there.has(line));
  return [
    ...wrong.map(({ line }) => `${into} ${line}`),
    ...gone.map((line) => `${into}: the version ${line} is not there any more`),
  ];
}
