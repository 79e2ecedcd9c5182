/** The views of `bi`, as an export needs them. */
import type { ClientBase } from 'pg';
import { Misconfigured } from '../core/errors.ts';

export interface ViewColumn {
  readonly name: string;
  /** The name in SQL, quoted where it must be. */
  readonly id: string;
  /** As `format_type` names it: `numeric(18,6)`. */
  readonly type: string;
  readonly about: string | null;
}

export interface View {
  readonly name: string;
  /** The name in SQL, with its schema. */
  readonly id: string;
  readonly about: string | null;
  readonly columns: readonly ViewColumn[];
}

/** What a format needs to write a view. */
export interface Writing {
  readonly client: ClientBase;
  readonly view: View;
  /** The folder of the export; that of the view below it exists. */
  readonly folder: string;
  /** The condition on its rows, or nothing. */
  readonly where: string;
  /** Of this program. */
  readonly version: string;
  readonly signal?: AbortSignal;
}

/** The files of a view, by their paths below the folder of the export. */
export interface Written {
  readonly files: readonly { readonly path: string; readonly rows: number }[];
  /** Of columns that can be summed exactly, by name. */
  readonly sums?: ReadonlyMap<string, { readonly sum: string }>;
}

/** All views of `bi`, or those named. Throws Misconfigured for a name that none has. */
export async function viewsOf(client: ClientBase, names?: readonly string[]): Promise<readonly View[]> {
  const { rows } = await client.query<View>(`
    select c.relname::text as name, format('bi.%I', c.relname) as id, obj_description(c.oid, 'pg_class') as about,
      json_agg(json_build_object(
        'name', a.attname, 'id', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod),
        'about', col_description(c.oid, a.attnum)
      ) order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'bi'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
    group by c.oid order by c.relname`);
  const all = rows.map(({ name }) => name);
  const unknown = names?.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new Misconfigured(`there is no view “${unknown}” in bi; there are ${all.join(', ')}`);
  return rows.filter(({ name }) => names?.includes(name) ?? true);
}

/** Columns that hold the day of a fact. What has none (issues, campaigns) is as of now and always whole. */
const dayColumns = ['date_day', 'week_start', 'changed_date', 'work_date', 'captured_date'];

/** The column that `--since` compares; undefined for the calendar, which belongs to no source, and for what is as of now. */
export const dayOf = ({ columns }: View): string | undefined =>
  columns.some(({ name }) => name === 'source')
    ? dayColumns.find((day) => columns.some(({ name }) => name === day))
    : undefined;
