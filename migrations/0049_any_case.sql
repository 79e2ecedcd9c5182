-- Text of people that is compared without regard to case means the same in every database: in a Turkish one the lower
-- case of I is not i. The rules of Unicode where the server has them; else those of ASCII.
do $$
begin
  execute 'create collation ops.any_case from pg_catalog.' || coalesce(
    (
      select quote_ident(collname)
      from pg_collation
      where collnamespace = 'pg_catalog'::regnamespace and collname in ('pg_c_utf8', 'und-x-icu')
        and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding())) and getdatabaseencoding() = 'UTF8'
      order by collname collate "C"
      limit 1
    ),
    '"C"'
  );
end
$$;
comment on collation ops.any_case is 'For text of people that is compared without regard to case: the same in every database.';
