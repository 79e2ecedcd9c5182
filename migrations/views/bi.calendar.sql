create or replace view bi.calendar as
select
  c.date_day,
  c.week_start,
  c.month_start,
  c.quarter_start,
  c.year_start,
  c.iso_year,
  c.iso_week,
  c.month_number,
  c.day_of_week,
  c.day_name,
  c.is_weekend,
  w.is_working_day,
  w.holiday_name,
  extract(year from c.date_day)::integer
  + (ops.fiscal_year_start() > 1 and c.month_number >= ops.fiscal_year_start())::integer as fiscal_year,
  (c.month_number - ops.fiscal_year_start() + 12) % 12 / 3 + 1 as fiscal_quarter,
  w.working_day_number
from ops.calendar_days c
left join ops.working_days w on w.date_day = c.date_day;

comment on view bi.calendar is 'The days from 2010 to 2039, to fill gaps and to group by week, month, quarter; one row per day.';
comment on column bi.calendar.week_start is 'Monday of its week.';
comment on column bi.calendar.month_start is 'First day of its month.';
comment on column bi.calendar.quarter_start is 'First day of its quarter.';
comment on column bi.calendar.year_start is 'First day of its year.';
comment on column bi.calendar.iso_year is 'Year of its ISO week; differs at the turn of the year.';
comment on column bi.calendar.iso_week is 'ISO week, 1 to 53.';
comment on column bi.calendar.month_number is 'Month, 1 to 12.';
comment on column bi.calendar.day_of_week is 'Day of the week, 1 Monday to 7 Sunday.';
comment on column bi.calendar.day_name is 'English name of the day.';
comment on column bi.calendar.is_weekend is 'True on Saturday and Sunday.';
comment on column bi.calendar.is_working_day is 'True when people work on it: a working weekday (TIDEMARK_WORKING_DAYS) and no holiday (ref.holidays).';
comment on column bi.calendar.fiscal_year is 'Fiscal year (TIDEMARK_FISCAL_YEAR_START), named by the calendar year in which it ends.';
comment on column bi.calendar.fiscal_quarter is 'Quarter of the fiscal year, 1 to 4.';
comment on column bi.calendar.working_day_number is 'Working days since 2010, this day included. The difference of two days is the number of working days after the one until the other; never sum it.';

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
