-- A part of a record (a comment, a change, a step) is rejected by itself: its record is loaded without it.

alter table ops.rejects add column part text not null default '', add column given jsonb;
alter table ops.rejects drop constraint rejects_source_id_stream_record_key_sha256_key;
alter table ops.rejects add unique (source_id, stream, part, record_key, sha256);
comment on table ops.rejects is 'Dead letters: records, and parts of records, that could not become rows, with their exact bytes. Nothing is dropped silently.';
comment on column ops.rejects.record_key is 'The key of the record, also of the one that a part belongs to, if it could be read; else empty.';
comment on column ops.rejects.part is 'Which part of the record this is, e.g. comments: the record itself was loaded. Empty: the record itself.';
comment on column ops.rejects.given is 'What a part needs besides its bytes to be tried again, e.g. the key of its record.';
comment on column ops.rejects.payload is 'The record or part exactly as received.';
