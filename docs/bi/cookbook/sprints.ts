import type { Chapter } from './recipe.ts';

export const sprints: Chapter = {
  title: 'Sprints',
  recipes: [
    {
      title: 'What is the velocity of a board?',
      about:
        'Points as they were: committed at the start, done at the close. An estimate that was changed later does not change a past sprint.',
      sql: `select sprint_name, committed_points, added_points, done_points, done_to_committed_ratio
from bi.sprints
where board_name = 'WEB board' and sprint_state = 'closed' and completed_at >= now() - interval '120 days'
order by completed_at;`,
    },
    {
      title: 'How does the running sprint burn down?',
      about: 'What was left at the end of each day, beside the straight line to nothing.',
      sql: `select sprint_name, date_day, scope_issues, remaining_issues, remaining_points, ideal_points
from bi.sprint_burndown_daily
where sprint_state = 'active' and board_name = 'WEB board'
order by sprint_name, date_day;`,
    },
    {
      title: 'How much of each sprint was carried over?',
      about:
        'In the sprint and not done when it was closed. Issues that were taken out before count as removed.',
      sql: `select board_name, sprint_name, committed_issues, added_issues, removed_issues, done_issues, carried_over_issues
from bi.sprints
where sprint_state = 'closed' and completed_at >= now() - interval '90 days'
order by board_name, completed_at;`,
    },
    {
      title: 'Which issues came into a running sprint?',
      about: 'Added after the start. A sprint with many of them was not planned, it happened.',
      sql: `select sprint_name, issue_key, issue_type, added_at
from bi.sprint_issues
where sprint_state = 'active' and is_added
order by sprint_name, added_at, issue_key;`,
    },
  ],
};
