import type { Afterwards } from '../../../core/stream.ts';

/**
 * A group of TRACKER_GROUPS goes by its name until the account may list groups; from then on it is there once more, by its id. The row with the
 * id is the one that stays, and who is in the group is told of that one alone.
 */
export const namedGroups: Afterwards = {
  about:
    'A group that was read by its name is left to the one of that name which the server lists with an id.',
  sql: `
    with doubled as (
      update tracker.groups t set _deleted_at = now(), _synced_at = now(), _run_id = $2::bigint
      where t.source_id = $1::smallint and t.id = t.name and t._deleted_at is null and $3::timestamptz is not null and exists (
        select from tracker.groups o where o.source_id = t.source_id and o.name = t.name and o.id <> t.id and o._deleted_at is null)
      returning t.id
    ), left_over as (
      delete from tracker.group_members m using doubled d where m.source_id = $1::smallint and m.group_id = d.id
    )
    select 0::bigint as inserted, count(*) as updated from doubled`,
};
