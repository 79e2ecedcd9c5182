/** The four levels of the hierarchy that numbers are told for, and where the ids of each are known. */

import type { Given, KeySet, Slice } from '../../../core/stream.ts';
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

/**
 * The ids of the level's entities in the slice's account, archived ones included: what they spent was spent. Those that came to be after the
 * slice's days have no numbers of them; who does not tell when it came to be is asked for.
 */
export async function idsIn(slice: Slice, given: Given): Promise<readonly string[]> {
  const level = levelIn(slice);
  const account = accountIn(slice);
  const to = slice.window?.to;
  const before =
    to === undefined
      ? {}
      : { where: `created_at is null or created_at < '${to.toISOString()}'::timestamptz + interval '1 day'` };
  const known = (table: string, column: string, when: Pick<KeySet, 'where'>) =>
    given.keys({ table, columns: { id: column }, of: { ad_account_id: account }, ...when });
  if (level === 'AD_ACCOUNT') {
    // An account spends nothing before its first campaign is made.
    const isEarly =
      (await known(tables.CAMPAIGN, 'ad_account_id', before)).length === 0 &&
      (await known(tables.CAMPAIGN, 'ad_account_id', {})).length > 0;
    return isEarly ? [] : [account];
  }
  return (await known(tables[level], 'id', before)).flatMap(({ id }) => id ?? []);
}

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
  Array.from({ length: Math.ceil(ids.length / mostIds) }, (_, i) => ids.slice(i * mostIds, (i + 1) * mostIds));
