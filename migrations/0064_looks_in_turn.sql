-- pg-boss counts what a group runs before it takes a job of it. Of two looks at the same time each would find the same free place, so looks are made in
-- turn. It is a function so that no client can stand still while it holds the lock; each statement in it sees what was committed before it. What is
-- locked is a table of its own: a start that holds the row of the queue keeps no look waiting, and readers cannot lock it.
create unlogged table ops.looks_in_turn ();
comment on table ops.looks_in_turn is 'Always empty: locked by what looks for a job in the queue.';
create function ops.look_in_turn(statement text, most integer) returns setof jsonb language plpgsql as $$
begin
  lock table ops.looks_in_turn in exclusive mode;
  return query execute 'with taken as (' || statement || ') select to_jsonb(taken) from taken' using most;
end
$$;
comment on function ops.look_in_turn(text, integer) is
  'Runs the statement by which pg-boss takes jobs from the queue while no other process does; most is how many of a group may be active.';
