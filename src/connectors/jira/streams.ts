/** All streams of the tracker. */

export { boardSprints, boards, sprintIssues, sprints } from './streams/agile.ts';
export { issues } from './streams/issues.ts';
export { groupMembers, groups, users } from './streams/people.ts';
export { projects } from './streams/projects.ts';
export { fields, issueTypes, priorities, statuses } from './streams/vocabulary.ts';
