/** The contract of the schema `bi` as data: what a migrated warehouse says of its views, with what `declared.ts` adds. */
import type { Pool } from 'pg';
import {
  type Additivity,
  complete,
  type Kind,
  kinds,
  personal,
  roles,
  units,
  version,
  views,
} from './declared.ts';

export interface Contract {
  readonly version: string;
  readonly views: readonly View[];
}

export interface View {
  /** Of a view in another schema than `bi`, with that schema: `bi_pii.users`. */
  readonly name: string;
  readonly comment: string;
  /** What one row is, from the comment. */
  readonly grain: string;
  readonly key: readonly string[];
  /** Columns of the key that may be null. */
  readonly nullable: readonly string[];
  readonly day?: string;
  readonly relations: readonly Relation[];
  readonly columns: readonly Column[];
}

/** `columns` of one row equal `key` of one row in `to`. */
export interface Relation {
  /** True: several rows lead to one row of `to`. In a join, numbers of `to`, and of other views that lead there, count once for each. */
  readonly multiplies: boolean;
  readonly columns: readonly string[];
  readonly to: string;
  readonly key: readonly string[];
  /** False: the target may be missing. */
  readonly complete: boolean;
}

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly comment: string;
  /** Of measures only. */
  readonly measure?: Measure;
  readonly personal?: string;
}

export interface Measure {
  readonly additivity: Additivity;
  readonly unit: string;
  /** Columns of the key that sums may reach over; of what is never summed, none. */
  readonly addsOver?: readonly string[];
  /** Sums are true within one value of each of these columns. */
  readonly within?: readonly string[];
  /** The column that is true where the source hides the number, which is null then. */
  readonly hiddenBy?: string;
}

/** The name of a view as a query has it. */
export const qualified = (view: string): string => (view.includes('.') ? view : `bi.${view}`);

interface Stored {
  readonly view: string;
  readonly about: string;
  readonly name: string;
  readonly type: string;
  readonly comment: string;
}

const catalog = `
  select case n.nspname when 'bi' then '' else n.nspname || '.' end || c.relname as view, coalesce(obj_description(c.oid, 'pg_class'), '') as about, a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type, coalesce(col_description(c.oid, a.attnum), '') as comment
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('bi', 'bi_pii') and c.relkind in ('r', 'v', 'm', 'p')
  order by n.nspname, c.relname, a.attnum`;

/** Reads the contract of a migrated warehouse. Throws an error that says what to declare where anything is missing. */
export async function readContract(pool: Pick<Pool, 'query'>): Promise<Contract> {
  const { rows } = await pool.query<Stored>(catalog);
  const stored = Map.groupBy(rows, ({ view }) => view);
  const faults = [
    ...[...stored.keys()]
      .filter((name) => views[name] === undefined)
      .map((name) => `${qualified(name)} is not declared`),
    ...Object.keys(views)
      .filter((name) => !stored.has(name))
      .map((name) => `${qualified(name)} does not exist`),
    ...[...stored].flatMap(([name, columns]) => faultsOf(name, columns)),
  ];
  if (faults.length > 0) throw new Error(`docs/bi/declared.ts is not complete:\n  ${faults.join('\n  ')}`);
  return { version, views: [...stored].map(([name, columns]) => viewOf(name, columns)) };
}

/** What is missing or wrong in the declaration of a view. */
function faultsOf(view: string, stored: readonly Stored[]): readonly string[] {
  const is = views[view];
  if (is === undefined) return [];
  const has = (column: string): boolean => stored.some(({ name }) => name === column);
  const named = [
    ...is.key,
    ...(is.within ?? []),
    ...Object.keys(is.numbers ?? {}),
    ...(is.day ? [is.day] : []),
  ];
  const isDaily = stored.some(({ name, type }) => is.key.includes(name) && type === 'date');
  return [
    ...named.filter((column) => !has(column)).map((column) => `${qualified(view)} has no column ${column}`),
    ...(isDaily && view !== 'calendar' && is.days === undefined
      ? [
          `${qualified(view)} has a day in its key: say whether its numbers are a 'flow' or a 'state' of the day (days)`,
        ]
      : []),
    ...(grainOf(stored[0]?.about ?? '') === ''
      ? [`the comment of ${qualified(view)} does not say 'one row per …'`]
      : []),
    ...stored
      .filter(({ name, type }) => isNumber(type) && kindOf(view, name) === undefined)
      .map(
        ({ name }) =>
          `${qualified(view)}.${name} is a number: say whether it may be summed (numbers, or a rule in kinds)`,
      ),
  ];
}

function viewOf(name: string, stored: readonly Stored[]): View {
  const { key = [], nullable = [], day } = views[name] ?? {};
  const names = stored.map((column) => column.name);
  const comment = stored[0]?.about ?? '';
  const columns = stored.map((column) => columnOf(name, column, names));
  const relations = relationsOf(name, names);
  return { name, comment, grain: grainOf(comment), key, nullable, ...(day && { day }), relations, columns };
}

const grainOf = (comment: string): string =>
  /\bone row per (.+?)(?:[.;:]|, see |$)/i.exec(comment)?.[1] ??
  /^(.+?), one row each/.exec(comment)?.[1] ??
  '';

function columnOf(view: string, { name, type, comment }: Stored, names: readonly string[]): Column {
  const measure = isNumber(type) ? measureOf(view, name, names) : undefined;
  const person =
    roles[name] === 'users' || name === 'user_id' ? 'account id' : firstOf(personal, `${view}.${name}`);
  return { name, type, comment, ...(measure && { measure }), ...(person && { personal: person }) };
}

const isNumber = (type: string): boolean => /^(smallint|integer|bigint|numeric|real|double)/.test(type);

const kindOf = (view: string, column: string): Kind | undefined =>
  views[view]?.numbers?.[column] ?? firstOf(kinds, column);

function measureOf(view: string, column: string, names: readonly string[]): Measure | undefined {
  const kind = kindOf(view, column);
  if (kind === undefined || kind === 'label') return undefined;
  const hiddenBy = names.find(
    (name) => name === `is_${column.replace('_in_reporting_currency', '')}_suppressed`,
  );
  const measure = { unit: firstOf(units, column) ?? 'count', ...(hiddenBy && { hiddenBy }) };
  if (kind === 'non_additive') return { additivity: kind, ...measure };
  const {
    key = [],
    day,
    days,
    within = day !== undefined && days === 'state' ? [day] : [],
  } = views[view] ?? {};
  const additivity = hiddenBy ? 'lower_bound' : within.length > 0 ? 'semi_additive' : kind;
  const addsOver = key.filter((name) => !within.includes(name));
  return { additivity, ...measure, addsOver, ...(within.length > 0 && { within }) };
}

/** Every column, or columns, of a view that name a row of an entity. */
function relationsOf(view: string, names: readonly string[]): readonly Relation[] {
  const own = views[view]?.key ?? [];
  const alike = Object.entries(views)
    .filter(([to, { entity, key }]) => entity && to !== view && key.every((column) => names.includes(column)))
    .map(([to, { key }]) => ({ columns: key, to, key }));
  const inRoles = Object.entries(roles)
    .filter(([column]) => names.includes(column))
    .map(([column, to]) => {
      const key = views[to]?.key ?? [];
      return { columns: [...key.slice(0, -1), column], to, key };
    });
  return [...alike, ...inRoles].map((relation) => {
    const by = relation.columns.at(-1);
    const multiplies = own.some((column) => !relation.columns.includes(column));
    return {
      ...relation,
      multiplies,
      complete: complete.includes(`*.${by}`) || complete.includes(`${view}.${by}`),
    };
  });
}

const firstOf = <T>(rules: readonly (readonly [RegExp, T])[], name: string): T | undefined =>
  rules.find(([pattern]) => pattern.test(name))?.[1];
