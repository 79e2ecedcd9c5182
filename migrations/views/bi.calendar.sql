create or replace view bi.calendar as -- The days from 2010 to 2039, to fill gaps and to group by week, month, quarter; one row per day.
select
  c.*,
  w.is_working_day, -- True when people work on it: a working weekday (TIDEMARK_WORKING_DAYS) and no holiday (ref.holidays).
  w.holiday_name,
  extract(year from c.date_day)::integer
  + (ops.fiscal_year_start() > 1 and c.month_number >= ops.fiscal_year_start())::integer as fiscal_year, -- Fiscal year (TIDEMARK_FISCAL_YEAR_START), named by the calendar year in which it ends.
  (c.month_number - ops.fiscal_year_start() + 12) % 12 / 3 + 1 as fiscal_quarter, -- Quarter of the fiscal year, 1 to 4.
  w.working_day_number -- Working days since 2010, this day included. The difference of two days is the number of working days after the one until the other; never sum it.
from ops.calendar_days c
left join ops.working_days w on w.date_day = c.date_day;
