create function ops.shown_message(source_kind text, message text) returns text immutable parallel safe
  return case
    when source_kind <> 'tracker' or ops.shows_restricted_issues() then message
    else regexp_replace(
      message,
      '(\m(?:issue|comment|worklog|change)s?[/ ])[0-9]+\M|( has a bad [^:]*: ).*'
        '|\m[A-Z][A-Z0-9_]+-[0-9]+\M|\m[0-9]{5,}\M|"[^"]*"|“[^”]*”',
      '\1\2…', 'g'
    )
  end;
comment on function ops.shown_message(text, text) is 'What bi shows of a message: of a tracker without keys, ids and quoted values of issues, which may have a security level; the whole where bi shows such issues.';
