create or replace view ops.working_days as -- The days from 2010 to 2039 with the working time before each; one row per day. Working time at an instant: that before its day, and on a working day the seconds since starts_at. Between two instants it is the difference.
select
  d.date_day,
  d.is_working_day, -- True when people work on it: by ops.is_working_day(date), and no holiday.
  d.holiday_name,
  d.starts_at, -- When it begins (UTC).
  count(*) filter (where d.is_working_day) over until_this as working_day_number, -- Working days since 2010, this day included.
  coalesce(sum(d.length_seconds) filter (where d.is_working_day) over before_this, 0)::double precision
  as working_seconds_before -- Seconds of the working days since 2010 before this day; a day on which clocks change has 23 or 25 hours.
from (
  select
    c.date_day,
    ops.is_working_day(c.date_day) and h.date_day is null as is_working_day,
    h.name as holiday_name,
    c.date_day::timestamp at time zone ops.reporting_time_zone() as starts_at,
    date_part(
      'epoch',
      ((c.date_day + 1)::timestamp at time zone ops.reporting_time_zone())
      - (c.date_day::timestamp at time zone ops.reporting_time_zone())
    )::integer as length_seconds
  from ops.calendar_days c
  left join ref.holidays h on h.date_day = c.date_day
) d
window
  until_this as (order by d.date_day rows between unbounded preceding and current row),
  before_this as (order by d.date_day rows between unbounded preceding and 1 preceding);
