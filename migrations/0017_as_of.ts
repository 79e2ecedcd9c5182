import { type Kysely, sql } from 'kysely';

/** What an issue shows of other things is as old as the last change: the tracker does not count their changes as one of the issue. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const asOf = 'as of the last change of the issue';

const statements: readonly string[] = [
  `comment on table tracker.issue_versions is 'Fix versions and affected versions of issues; one row per issue, kind and version. What they say of the version is ${asOf}; sync tracker --full reads it as it is.'`,
  `comment on column tracker.issue_versions.name is 'Version name, ${asOf}.'`,
  `comment on column tracker.issue_versions.released is 'True when the version was released, ${asOf}.'`,
  `comment on column tracker.issue_versions.archived is 'True when the version was archived, ${asOf}.'`,
  `comment on column tracker.issue_versions.release_date is 'Day of release, planned or real, ${asOf}; a calendar day without a time zone.'`,
  `comment on table tracker.issue_components is 'Components of issues; one row per issue and component. Their names are ${asOf}; sync tracker --full reads them as they are.'`,
  `comment on column tracker.issue_components.name is 'Component name, ${asOf}.'`,
  `comment on table tracker.issue_sprints is 'Sprints that an issue is or was in, from its own sprint field; one row per issue and sprint. What they say of the sprint is ${asOf}: tracker.sprints is newer.'`,
  `comment on column tracker.issue_sprints.state is 'future, active or closed, ${asOf}.'`,
  `comment on table tracker.sprints is 'Sprints, one row each: as the boards list them; those that no board lists, as the issues that name them told last.'`,
];
