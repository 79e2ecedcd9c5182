create or replace view tracker.shown_issues as -- The issues that bi is made of, with the columns of tracker.issues: live ones; those with a security level only where the configuration says so.
select i.*
from tracker.issues i
where i._deleted_at is null and ops.shows_level(i.security_level, i.security_level_id);
