-- Fields of a warehouse that is older than their roles, as the views recognised them until now. The next sync decides anew.
do $$
begin
  if to_regclass('tracker.fields') is null then
    return;
  end if;
  alter table tracker.fields add column if not exists role text;
  update tracker.fields
  set role = case schema_custom
    when 'com.pyxis.greenhopper.jira:gh-sprint' then 'sprint'
    when 'com.pyxis.greenhopper.jira:gh-epic-link' then 'epic_link'
    else 'story_points'
  end
  where custom and (
    schema_custom in (
      'com.pyxis.greenhopper.jira:gh-sprint', 'com.pyxis.greenhopper.jira:gh-epic-link',
      'com.pyxis.greenhopper.jira:jsw-story-points'
    )
    or (schema_type = 'number' and btrim(name) collate "C" ~* '^story points?( estimate)?$')
  );
end
$$;
