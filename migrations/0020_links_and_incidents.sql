-- Lists for questions across the systems: which text names which record, and what counts as an incident.

create table ref.link_patterns (
  from_kind text not null,
  from_field text not null,
  pattern text not null check (regexp_replace('', pattern, '') = ''),
  to_kind text not null,
  to_field text not null,
  note text,
  primary key (from_kind, from_field, pattern, to_kind),
  check ((from_kind, from_field) in (
    ('campaign', 'name'), ('campaign', 'purchase_order'), ('dag_run', 'params'),
    ('issue', 'summary'), ('issue', 'description'))),
  check ((to_kind, to_field) in (('issue', 'key'), ('campaign', 'id')))
);
comment on table ref.link_patterns is 'Where a text names a record of another system, one row per pattern. Read by bi.cross_links; a name that leads to nothing is no link.';
comment on column ref.link_patterns.from_kind is 'Whose text is searched: campaign, dag_run or issue.';
comment on column ref.link_patterns.from_field is 'Which text: name or purchase_order of a campaign, params of a DAG run, summary or description of an issue (descriptions are slow).';
comment on column ref.link_patterns.pattern is 'POSIX regular expression of Postgres. Its first group in parentheses is the name, or the whole match where it has none.';
comment on column ref.link_patterns.to_kind is 'What is named: issue or campaign.';
comment on column ref.link_patterns.to_field is 'How it is named: an issue by its key, of today or a former one; a campaign by its id.';
comment on column ref.link_patterns.note is 'What it is for.';

insert into ref.link_patterns (from_kind, from_field, pattern, to_kind, to_field, note)
select from_kind, from_field, case to_kind when 'issue' then key_pattern else id_pattern end, to_kind, to_field, note
from (values
  ('campaign', 'name', 'issue', 'key', 'a campaign name that carries an issue key'),
  ('campaign', 'purchase_order', 'issue', 'key', 'a purchase order that carries an issue key'),
  ('dag_run', 'params', 'issue', 'key', 'a parameter of a DAG run that carries an issue key'),
  ('dag_run', 'params', 'campaign', 'id', 'a parameter of a DAG run that carries a campaign id'),
  ('issue', 'summary', 'campaign', 'id', 'an issue summary that carries a campaign id')
) named (from_kind, from_field, to_kind, to_field, note)
cross join (values (
  '(?<![A-Za-z0-9])[A-Z][A-Z0-9]+-[1-9][0-9]*(?![A-Za-z0-9])',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
)) patterns (key_pattern, id_pattern);

create table ref.incident_rules (
  field text not null check (field in ('issue_type', 'label')),
  pattern text not null,
  primary key (field, pattern)
);
comment on table ref.incident_rules is 'Which issues are incidents, one row per rule; one that fits is enough. Read by bi.incidents.';
comment on column ref.incident_rules.field is 'issue_type (its name) or label.';
comment on column ref.incident_rules.pattern is 'Text that it must equal, in upper or lower case; % stands for any text, as in LIKE.';

insert into ref.incident_rules values ('issue_type', '%incident%'), ('label', 'incident');
