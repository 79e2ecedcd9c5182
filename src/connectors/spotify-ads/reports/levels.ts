/** The four levels of the hierarchy that numbers are told for, and where the ids of each are known. */

import type { KeySet, Slice, SliceContext } from '../../../core/stream.ts';
import { accountIn } from '../streams/of-account.ts';

export type Level = 'AD_ACCOUNT' | 'CAMPAIGN' | 'AD_SET' | 'AD';

const tables: Readonly<Record<Exclude<Level, 'AD_ACCOUNT'>, string>> = {
  CAMPAIGN: 'ads.campaigns',
  AD_SET: 'ads.ad_sets',
  AD: 'ads.ads',
};

/** The most ids that one request may name. */
export const mostIds = 50;

/** The level that a slice is about. */
export const levelIn = ({ partition }: Slice): Level => {
  const level = partition?.entity_type;
  if (level === 'AD_ACCOUNT' || level === 'CAMPAIGN' || level === 'AD_SET' || level === 'AD') return level;
  throw new Error(`a slice of a report names its level, not ${level}`);
};

/** Where the facts of a stream are, and the column that says to which day one belongs. */
export interface Facts {
  /** `schema.table` */
  readonly table: string;
  readonly column: string;
}

/**
 * The ids of the level's entities in the slice's account, archived ones included: what they spent was spent. Those that came to be after the
 * slice's days have no numbers of them, unless some were told: a platform may date an entity anew, or tell zeros of days on which it was not there
 * yet. Who does not tell when it came to be is asked for.
 */
export async function idsIn(slice: Slice, given: SliceContext, facts: Facts): Promise<readonly string[]> {
  const level = levelIn(slice);
  const account = accountIn(slice);
  const known = (table: string, column: string, when: Pick<KeySet, 'where'>) =>
    given.keys({ table, columns: { id: column }, of: { ad_account_id: account }, ...when });
  if (level === 'AD_ACCOUNT') {
    // An account spends nothing before its first campaign is made.
    const { CAMPAIGN: campaigns } = tables;
    const isEarly =
      (await known(campaigns, 'ad_account_id', thereIn(slice, facts, campaigns, 'ad_account_id'))).length ===
        0 && (await known(campaigns, 'ad_account_id', {})).length > 0;
    return isEarly ? [] : [account];
  }
  const table = tables[level];
  return (await known(table, 'id', thereIn(slice, facts, table, 'id'))).flatMap(({ id }) => id ?? []);
}

/** Entities of a table that were there in the slice's days, or of which there are facts of these days; `column` is their id. */
const thereIn = (slice: Slice, facts: Facts, table: string, column: string): Pick<KeySet, 'where'> => {
  const { from, to } = slice.window ?? {};
  if (to === undefined) return {};
  const entity = table.slice(table.indexOf('.') + 1);
  return {
    where: `created_at is null or created_at < '${to.toISOString()}'::timestamptz + interval '1 day' or exists (
      select from ${facts.table} f where f.source_id = ${entity}.source_id and f.entity_type = '${levelIn(slice)}'
        and f.entity_id = ${entity}.${column} and f.${facts.column} < '${to.toISOString()}'${
          from === undefined ? '' : ` and f.${facts.column} >= '${from.toISOString()}'`
        })`,
  };
};

/**
 * Accounts × levels with entities that became known late (`Days.joined`): the list that shows them failed or was closed to us when their days
 * were read. What an account spent by its oldest campaign belongs to its own level, too.
 */
export const lateLevels = `
  select ad_account_id, entity_type, case when bool_or(created_at is null) then null else min(created_at) end as since
  from (
    select source_id, ad_account_id, 'AD_ACCOUNT' as entity_type, created_at, _first_synced_at from ${tables.CAMPAIGN}
    ${Object.entries(tables)
      .map(
        ([level, name]) =>
          `union all select source_id, ad_account_id, '${level}', created_at, _first_synced_at from ${name}`,
      )
      .join('\n    ')}
  ) e
  where source_id = $1 and _first_synced_at > $2::timestamptz and (created_at is null or created_at < $3::timestamptz)
  group by 1, 2`;

/** In pieces that one request may name. */
export const chunks = (ids: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / mostIds) }, (_, i) =>
    ids.slice(i * mostIds, (i + 1) * mostIds),
  );
