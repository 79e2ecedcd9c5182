-- The tracker's lists: users, projects, vocabulary, boards, fields.

insert into tracker.users (source_id, id, display_name, email, active, time_zone, account_type)
select 1, 'user-' || n, 'User ' || n, 'user' || n || '@example.com', n % 12 <> 0,
  (array['Europe/Berlin', 'Europe/London', 'America/New_York', 'Asia/Tokyo'])[1 + n % 4], 'atlassian'
from generate_series(1, 500) n;

insert into tracker.groups (source_id, id, name)
select 1, 'group-' || n, 'Team ' || n from generate_series(1, 25) n;
insert into tracker.group_members (source_id, group_id, user_id)
select 1, 'group-' || (1 + n % 25), 'user-' || n from generate_series(1, 500) n;

insert into tracker.projects (source_id, id, key, name, type, category, lead_user_id, url)
select 1, 10000 + n, key, 'Project ' || key, 'software', (array['Product', 'Platform',
  'Business'])[1 + n % 3],
  'user-' || (1 + fill.pick(n, 1, 500)), 'https://jira.example.com/projects/' || key
from unnest(
  '{WEB,APP,API,DATA,OPS,PAY,SHOP,CRM,ADS,SEC,INFRA,MOB,SRCH,BILL,HELP,HR,LEGAL,RND,QA,DOC}'::text[]
) with ordinality p (key, place),
lateral (select place::integer - 1 as n) o;

insert into tracker.statuses (source_id, id, name, category, _deleted_at) values
  (1, 1, 'To Do', 'todo', null),
  (1, 2, 'Selected', 'todo', null),
  (1, 3, 'In Progress', 'in_progress', null),
  (1, 4, 'In Review', 'in_progress', null),
  (1, 5, 'Blocked', 'in_progress', null),
  (1, 6, 'Done', 'done', null),
  (1, 7, 'Closed', 'done', null),
  (1, 8, 'Imported', 'unknown', null),
  (1, 9, 'Testing', 'in_progress', now());

insert into tracker.issue_types (source_id, id, name, subtask, hierarchy_level) values
  (1, 1, 'Bug', false, 0), (1, 2, 'Task', false, 0), (1, 3, 'Story', false, 0), (1, 4, 'Epic', false, 1),
  (1, 5, 'Sub-task', true, -1), (1, 6, 'Incident', false, 0);

insert into tracker.priorities (source_id, id, name, rank) values
  (1, 1, 'Highest', 1), (1, 2, 'High', 2), (1, 3, 'Medium', 3), (1, 4, 'Low', 4), (1, 5, 'Lowest', 5);

insert into tracker.boards (source_id, id, name, type, project_id)
select 1, 1 + n, key || ' board', 'scrum', 10000 + n
from tracker.projects p, lateral (select p.id - 10000 as n) o;

insert into tracker.fields (source_id, id, name, custom, schema_type, items_type, schema_custom, role)
select 1, id, name, false, type, null, null, null
from (values
  ('summary', 'Summary', 'string'), ('status', 'Status', 'status'), ('assignee', 'Assignee', 'user'),
  ('priority', 'Priority', 'priority'), ('description', 'Description', 'string'), ('labels', 'Labels',
    'array'),
  ('duedate', 'Due date', 'date'), ('fixVersions', 'Fix versions', 'array')
) f (id, name, type)
union all values
  (1, 'customfield_10020', 'Sprint', true, 'array', 'json', 'com.pyxis.greenhopper.jira:gh-sprint', 'sprint'),
  (1, 'customfield_10016', 'Story Points', true, 'number', null,
    'com.atlassian.jira.plugin.system.customfieldtypes:float', 'story_points');

-- A hundred of the company's own; six kinds take turns.
insert into tracker.fields (source_id, id, name, custom, schema_type, items_type, schema_custom)
select 1, 'customfield_' || (10100 + n), kind.words || ' ' || n, true, kind.type, kind.items,
  'com.atlassian.jira.plugin.system.customfieldtypes:' || kind.custom
from generate_series(0, 99) n
join (values
  (0, 'Cost centre', 'string', null, 'textfield'),
  (1, 'Effort', 'number', null, 'float'),
  (2, 'Market', 'option', null, 'select'),
  (3, 'Channels', 'array', 'option', 'multiselect'),
  (4, 'Approver', 'user', null, 'userpicker'),
  (5, 'Go live', 'date', null, 'datepicker')
) kind (place, words, type, items, custom) on kind.place = n % 6;
