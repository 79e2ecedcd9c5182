-- What a walk is for and what it covers are columns. Until now they were sentences: ops.walks.words and ops.checkpoints.scope.

-- The parts of "<selection>[\nread by <edition>; <mapping>]".
create function pg_temp.coverage(scope text, out selection text, out edition text, out mapping text)
language plpgsql immutable as $$
declare
  rest text;
begin
  selection := split_part(scope, E'\nread by ', 1);
  rest := substr(scope, length(selection) + length(E'\nread by ') + 1);
  edition := split_part(rest, '; ', 1);
  mapping := substr(rest, length(edition) + length('; ') + 1);
end
$$;

alter table ops.walks
  add column purpose text check (purpose in ('requested', 'beside', 'missing')),
  add column forced boolean not null default false,
  add column selection text not null default '',
  add column edition text not null default '',
  add column mapping text not null default '';

-- "full <coverage>", "full forced <coverage>". A selection that begins with "forced " cannot be told from a forced walk: it is
-- taken for one over another selection, and everything is read again.
update ops.walks w set forced = starts_with(o.words, 'full forced '), selection = c.selection, edition = c.edition, mapping = c.mapping
from ops.walks o, pg_temp.coverage(regexp_replace(o.words, '^full (forced )?', '')) c
where o.walk_id = w.walk_id and o.kind = 'full' and starts_with(o.words, 'full ');

-- "beside", "reconcile <run>", "backfill <window> <selection>"; the window is in the columns of the walk.
update ops.walks set
  purpose = case when words = 'beside' then 'beside' when words ~ '^reconcile \d+$' then 'missing' else 'requested' end,
  selection = case when words ~ '^backfill \{' then regexp_replace(words, '^backfill \{[^}]*\} ', '') else '' end
where kind = 'backfill';

alter table ops.walks
  drop column words,
  add check ((purpose is not null) = (kind = 'backfill'));
comment on column ops.walks.purpose is 'What a backfill is for: requested (the window that a person asked for), beside (what changed while another walk cannot be finished), missing (records that a reconciliation found missing); null: it is no backfill.';
comment on column ops.walks.forced is 'True where what it reads wins over what is stored (a full sync that was asked for).';
comment on column ops.walks.selection is 'What the configuration restricted the stream to (extra filter, start of history); empty: nothing.';
comment on column ops.walks.edition is 'The edition of the mapping by which records became rows; empty: the stream has none.';
comment on column ops.walks.mapping is 'What else decided which rows a record became, e.g. the fields of the site that have a role; empty: nothing.';

alter table ops.checkpoints
  add column selection text not null default '',
  add column edition text not null default '',
  add column mapping text not null default '';
update ops.checkpoints k set selection = c.selection, edition = c.edition, mapping = c.mapping
from ops.checkpoints o, pg_temp.coverage(o.scope) c
where (o.source_id, o.stream) = (k.source_id, k.stream);
alter table ops.checkpoints drop column scope;
comment on column ops.checkpoints.selection is 'What the configuration restricted the stream to when everything was last read; another selection means that everything is read again.';
comment on column ops.checkpoints.edition is 'The edition of the mapping by which everything was last read; another edition means that everything is read again.';
comment on column ops.checkpoints.mapping is 'What else decided which rows a record became when everything was last read; empty: nothing, or not known any more. More of it means that everything is read again.';
drop function pg_temp.coverage;
