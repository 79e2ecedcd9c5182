create or replace view bi.calendar as -- The days from 2010 to 2039, to fill gaps and to group by week, month, quarter; one row per day.
select
  c.date_day,
  c.week_start, -- Monday of its week.
  c.month_start, -- First day of its month.
  c.quarter_start, -- First day of its quarter.
  c.year_start, -- First day of its year.
  c.iso_year, -- Year of its ISO week; differs at the turn of the year.
  c.iso_week, -- ISO week, 1 to 53.
  c.month_number, -- Month, 1 to 12.
  c.day_of_week, -- Day of the week, 1 Monday to 7 Sunday.
  c.day_name, -- English name of the day.
  c.is_weekend, -- True on Saturday and Sunday.
  w.is_working_day, -- True when people work on it: a working weekday (TIDEMARK_WORKING_DAYS) and no holiday (ref.holidays).
  w.holiday_name,
  extract(year from c.date_day)::integer
  + (ops.fiscal_year_start() > 1 and c.month_number >= ops.fiscal_year_start())::integer as fiscal_year, -- Fiscal year (TIDEMARK_FISCAL_YEAR_START), named by the calendar year in which it ends.
  (c.month_number - ops.fiscal_year_start() + 12) % 12 / 3 + 1 as fiscal_quarter, -- Quarter of the fiscal year, 1 to 4.
  w.working_day_number -- Working days since 2010, this day included. The difference of two days is the number of working days after the one until the other; never sum it.
from ops.calendar_days c
left join ops.working_days w on w.date_day = c.date_day;

-- Who could read the calendar while it was a table can read it now.
do $$
declare
  reader text;
begin
  for reader in
    select case grantee when 0 then 'public' else grantee::regrole::text end
    from pg_class
    cross join aclexplode(relacl)
    where oid = 'ops.calendar_days'::regclass and grantee <> relowner and privilege_type = 'SELECT'
  loop
    execute format('grant select on bi.calendar to %s', reader);
  end loop;
end
$$;
