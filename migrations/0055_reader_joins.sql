-- Logins of readers join by hash (ops.reader_statements says why), also where the warehouse is older than that setting.
do $$
begin
  execute replace(
    pg_get_functiondef('ops.reader_statements(text,text[])'::regprocedure),
    $s$('jit', 'off')
$s$,
    $s$('jit', 'off'), ('enable_mergejoin', 'off')
$s$
  );
end
$$;
