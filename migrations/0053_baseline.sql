-- The steps before this one hold what twenty others had added to them. A warehouse that has all of those goes on; one
-- that lacks some is of an earlier state of the development.
do $$
declare
  parts constant text[] := '{
    0004_calendar, 0005_budgets, 0006_connectors, 0010_percent_decoding, 0020_links_and_incidents, 0030_working_calendar,
    0031_history_fields, 0033_field_roles, 0040_readers, 0041_reader_statements, 0045_rejected_parts, 0046_blocking_links,
    0047_rich_text_addresses, 0048_batches, 0048_sessions_of_readers, 0048_shown_issues, 0049_any_case, 0050_token_ends,
    0051_kept_secrets, 0052_shown_messages
  }';
begin
  -- What is applied is written down after the last step: a new warehouse has nothing yet.
  if not exists (select from ops.definitions where kind = 'step') then
    return;
  end if;
  if (select count(*) from ops.definitions where name = any (parts)) < cardinality(parts) then
    raise exception 'the warehouse is of an earlier state of the development: give Tidemark an empty database and read everything anew';
  end if;
  alter table ops.calendar_days rename constraint calendar_pkey to calendar_days_pkey;
  delete from ops.definitions where name = any (parts);
end
$$;
