const relkinds = `relnamespace in ('bi'::regnamespace, 'bi_pii'::regnamespace) and relkind in ('r', 'v', 'm', 'p')`;
/** What must hold of every view, those that are made for a site included: queries that must give no rows. */
export const lints: readonly (readonly [says: string, offending: string])[] = [
  [
    'every driver can read the types',
    `select table_name, column_name, data_type from information_schema.columns where table_schema in ('bi', 'bi_pii')
      and ((data_type = 'numeric' and (numeric_precision is null or numeric_precision > 28))
        or data_type in ('uuid', 'jsonb', 'json', 'ARRAY', 'interval'))`,
  ],
  [
    'ids are text',
    `select table_name, column_name from information_schema.columns
      where table_schema in ('bi', 'bi_pii') and column_name like '%\\_id' and data_type <> 'text'`,
  ],
  [
    'every relation and every column has a comment',
    `select c.relname, a.attname from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped
      where ${relkinds} and col_description(c.oid, a.attnum) is null
      union all select relname, null from pg_class where ${relkinds} and obj_description(oid, 'pg_class') is null`,
  ],
  [
    'a view of issues tests no condition of a reader on rows that it leaves out',
    `select c.relname from pg_class c where ${relkinds} and not coalesce(reloptions, '{}') @> '{security_barrier=true}'
      and exists (select from pg_rewrite r
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
        join pg_class t on t.oid = d.refobjid and t.relnamespace = 'tracker'::regnamespace
        where r.ev_class = c.oid and (t.relname in ('issues', 'shown_issues')
          or exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'issue_id')))`,
  ],
  [
    'no name needs quotes, and none needs AS',
    `select table_name, column_name from information_schema.columns c
      where table_schema in ('bi', 'bi_pii') and (quote_ident(column_name) <> column_name
        or exists (select from pg_get_keywords() k where k.word = column_name and not k.barelabel))`,
  ],
];
