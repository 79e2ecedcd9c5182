-- The calendar of bi becomes a view: its working days follow the settings and ref.holidays. The days stay a table.

alter table bi.calendar set schema ops;
alter table ops.calendar rename to calendar_days;
comment on table ops.calendar_days is 'The days from 2010 to 2039, one row each. What bi.calendar is made of.';
