create or replace view ops.messages as -- Messages about pipelines, the newest first; one row per message and channel.
select
  concat_ws(': ', n.message ->> 'title', n.message ->> 'cause') as what,
  n.pipeline,
  n.channel,
  n.status as state,
  n.created_at as created,
  n.sent_at as sent, -- As ops.notifications.sent_at.
  n.attempts::text as tries,
  n.error as details
from ops.notifications n
order by n.created_at desc;
