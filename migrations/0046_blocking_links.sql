-- Which links say that one issue blocks another: link types have names that a site makes itself, in any language.

create table ref.blocking_links (
  field text not null check (field in ('type_id', 'type_name', 'outward', 'inward')),
  pattern text not null,
  primary key (field, pattern)
);
comment on table ref.blocking_links is 'Which link types block, one row per rule; one that fits is enough. Read by bi.issue_links.';
comment on column ref.blocking_links.field is 'What of the link type is compared: type_id, type_name, outward (how its active end reads) or inward.';
comment on column ref.blocking_links.pattern is 'Text that it must equal, in upper or lower case; % stands for any text, as in LIKE.';

insert into ref.blocking_links values ('type_name', 'block%'), ('outward', 'block%');

comment on column ref.incident_rules.field is 'issue_type (its name, or its English one) or label.';
