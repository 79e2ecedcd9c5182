/**
 * Lists that the contract does not have: statuses, types, priorities and the sprints of boards, as the issues tell
 * them.
 */

import type { Fallback } from '../../../core/stream.ts';
import { calling } from '../streams/stream.ts';

const fromIssues = (what: string, name: string): Fallback => ({
  reason: `the server does not list its ${what}; they are taken from the issues that are in one now`,
  after: ['issues'],
  sql: calling(name),
});

export const statusesFromIssues = fromIssues('statuses', 'statuses_of_issues');
export const issueTypesFromIssues = fromIssues('types of issues', 'issue_types_of_issues');
export const prioritiesFromIssues = fromIssues('priorities', 'priorities_of_issues');

/** Where no board lists its sprints at all. */
export const sprintsFromIssues: Fallback = {
  reason: "the server does not list the sprints of its boards; they are taken from the issues' sprint field",
  after: ['issues'],
  sql: calling('sprints_of_issues', 'true'),
};

export const boardSprintsFromSprints: Fallback = {
  reason:
    'the server does not list the sprints of its boards; each is taken to show on the board it was created on',
  after: ['sprints'],
  sql: calling('board_sprints_of_sprints'),
};
