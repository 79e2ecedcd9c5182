import { type Kysely, sql } from 'kysely';

/** A field of the platform that had no value before or has none after: its wrapping, {} or {"value": null}, was shown as if it were the value. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const utcDay = (instant: string): string => `(${instant} at time zone 'UTC')::date`;

/** A JSON value as text: the platform wraps most in {"value": …}, and an absent one in nothing. */
const changedValue = (column: string): string =>
  `case when jsonb_typeof(${column}) = 'object' and (${column} ? 'value' or ${column} = '{}') then ${column} ->> 'value' else ${column}::text end`;

/** In the order of the view as it is: only what a column is computed from may change. */
const columns: Readonly<Record<string, string>> = {
  source: 's.name',
  change_id: 'h.id',
  ad_account_id: 'h.ad_account_id',
  ad_account_name: 'ac.name',
  changed_at: 'h.changed_at',
  changed_date: utcDay('h.changed_at'),
  entity_type: 'h.entity_type',
  entity_id: 'h.entity_id',
  entity_name: 'h.entity_name',
  operation: 'h.operation',
  changed_by: 'h.actor_name',
  changed_by_category: 'h.actor_category',
  field_number: 'f.item',
  field_name: 'coalesce(f.display_label, f.field_type)',
  change_category: 'f.change_category',
  old_value: changedValue('f.before'),
  new_value: changedValue('f.after'),
};

const statements: readonly string[] = [
  `create or replace view bi.ad_change_history as select ${Object.entries(columns)
    .map(([column, expression]) => `${expression} as ${column}`)
    .join(', ')}
    from ads.change_history h
    join ops.sources s on s.source_id = h.source_id
    left join ads.change_history_items f on f.source_id = h.source_id and f.change_id = h.id
    left join ads.ad_accounts ac on ac.source_id = h.source_id and ac.id = h.ad_account_id
    where h._deleted_at is null`,
];
