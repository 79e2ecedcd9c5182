create or replace view ops.undelivered as -- Messages of the last two days that a channel did not take, unless it took a later one; one row per message and channel.
select
  concat_ws(': ', n.message ->> 'title', n.message ->> 'cause') as what,
  n.pipeline,
  n.channel,
  n.status as state,
  n.error as details,
  n.created_at as created,
  n.attempts::text as tries
from ops.notifications n
where n.created_at > now() - interval '2 days' and n.status <> 'sent' and n.attempts > 0
  and not exists (
    select
    from ops.notifications o
    where o.channel = n.channel and o.status = 'sent' and o.created_at > n.created_at
  )
order by n.created_at desc;
