-- Statistics do not pass the security barrier of a view. Without them the planner joins two views by sorting both, 200,000
-- texts and more, which takes three times as long as a hash, or compares each row with each that it keeps, which takes
-- minutes where it expects five rows and finds thousands. The rest of the function is as 0007_reporting.sql has it.
do $$
begin
  execute replace(
    pg_get_functiondef('ops.reader_statements(text, text[])'::regprocedure),
    '(''jit'', ''off'')', '(''jit'', ''off''), (''enable_mergejoin'', ''off''), (''enable_material'', ''off'')'
  );
end
$$;
