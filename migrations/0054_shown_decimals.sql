create function ops.shown_decimal(value numeric) returns numeric immutable parallel safe
  return case when abs(value) < 1e21 then value end;
comment on function ops.shown_decimal(numeric) is 'A decimal as bi shows it, where numeric(28,6) must hold it: null beyond 21 digits before the point.';
