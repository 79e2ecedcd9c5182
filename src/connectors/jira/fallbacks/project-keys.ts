import type { Afterwards } from '../../../core/stream.ts';

/**
 * A project that gets another key gives one to each of its issues, and the tracker does not count that as a change of them: no walk over changes
 * shows it. They are noted as changed out of sight, and the next reconciliation reads them again. Looks at the issues of those projects alone whose rows
 * were written since the last sync that came this far.
 */
export const rekeyedIssues: Afterwards = {
  about:
    'Issues whose keys do not begin with the key of their project are noted for the next reconciliation.',
  sql: `
    with last as (
      select coalesce(max(s.run_id), 0) as run_id from ops.run_streams s join ops.runs r on r.run_id = s.run_id
      where s.source_id = $1::smallint and s.stream = 'projects' and s.status = 'ok' and r.kind = 'sync' and s.run_id < $2::bigint
    ), noted as (
      insert into ops.unseen (source_id, stream, key)
      select i.source_id, 'issues', i.id::text
      from tracker.projects p join tracker.issues i on i.source_id = p.source_id and i.project_id = p.id
      where p.source_id = $1::smallint and p._run_id > (select run_id from last) and p._deleted_at is null
        and i._deleted_at is null and not starts_with(i.key, p.key || '-') and $3::timestamptz is not null
      on conflict do nothing
    )
    select 0::bigint as inserted, 0::bigint as updated`,
};
