create or replace view tracker.hidden_keys as -- Keys, of today and former ones, of issues that bi does not show: texts of other issues that are such a key are null in bi; one row per issue and key, or two.
select
  k.source_id,
  k.issue_id,
  k.key -- The key.
from (
  select source_id, id as issue_id, key from tracker.issues
  union all
  select source_id, issue_id, key from tracker.issue_keys
) k
where not exists (select from tracker.shown_issues i where i.source_id = k.source_id and i.id = k.issue_id)
  -- A former key that another issue has today names that one.
  and not exists (select from tracker.shown_issues i where i.source_id = k.source_id and i.key = k.key);
