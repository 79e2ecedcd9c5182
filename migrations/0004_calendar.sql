-- The calendar of the reporting schema: a table, because it never changes.

create table bi.calendar (
  date_day date primary key,
  week_start date not null,
  month_start date not null,
  quarter_start date not null,
  year_start date not null,
  iso_year integer not null,
  iso_week integer not null,
  month_number integer not null,
  day_of_week integer not null,
  day_name text not null,
  is_weekend boolean not null
);

insert into bi.calendar
select
  d::date,
  date_trunc('week', d)::date,
  date_trunc('month', d)::date,
  date_trunc('quarter', d)::date,
  date_trunc('year', d)::date,
  extract(isoyear from d)::integer,
  extract(week from d)::integer,
  extract(month from d)::integer,
  extract(isodow from d)::integer,
  to_char(d, 'FMDay'),
  extract(isodow from d) >= 6
from generate_series(timestamp '2010-01-01', timestamp '2039-12-31', interval '1 day') d;

comment on table bi.calendar is 'The days from 2010 to 2039, one row each: to fill gaps and to group by week, month, quarter.';
comment on column bi.calendar.date_day is 'The day.';
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
