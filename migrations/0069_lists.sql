-- What the lists of the dashboard show, newest first by an index, and rejects that a person dismissed.
alter table ops.rejects
  drop constraint rejects_status_check,
  add constraint rejects_status_check check (status in ('open', 'resolved', 'replayed', 'dismissed'));
comment on column ops.rejects.status is 'open, resolved (a good version landed, another bad one took its place, or a complete listing shows it no more), replayed (landed from here) or dismissed (a person decided that it need not become a row; the same bytes stay dismissed).';
comment on column ops.notifications.event is 'failed, partly_failed, needs_attention, stale, stuck, recovered, reminder or test.';
comment on column ops.notifications.status is 'pending, sent or given_up (tried for a day, or refused for what it is; a test is tried once).';

create index on ops.rejects (last_seen_at desc, reject_id desc) where status = 'open';
create index on ops.run_streams (finished_at desc) where deleted > 0;
create index on ops.notifications (created_at desc);
