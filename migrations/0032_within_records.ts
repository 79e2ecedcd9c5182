import { type Kysely, sql } from 'kysely';

/**
 * What the tracker tells within a record and nothing kept: when work on a version starts and what it is for, what a component is, the id of a security
 * level, which tells two of one name apart, and of a change what made it (an automation, a commit, another system).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [column, [type, about]] of Object.entries(columns)) {
    const [table, name] = column.split('.');
    await sql.raw(`alter table tracker.${table} add column ${name} ${type}`).execute(db);
    await sql.raw(`comment on column tracker.${column} is '${about}'`).execute(db);
  }
  await sql.raw(`comment on table tracker.issue_components is '${components}'`).execute(db);
}

const asOf = 'as of the last change of the issue';

const columns: Readonly<Record<string, readonly [type: string, about: string]>> = {
  'issue_components.description': ['text', `What the component is, ${asOf}.`],
  'issue_versions.start_date': [
    'date',
    `Day on which work on it starts or started, ${asOf}; a calendar day without a time zone.`,
  ],
  'issue_versions.description': ['text', `What the version is for, ${asOf}.`],
  'issues.security_level_id': [
    'bigint',
    'Id of the security level; null if everybody of the project may see it.',
  ],
  'issue_changelog._extra': [
    'jsonb',
    'What the source tells of the change and no column holds, e.g. historyMetadata: what made it, as an automation or another system.',
  ],
};

const components = `Components of issues; one row per issue and component. What they say of the component is ${asOf}; sync tracker --full reads it as it is.`;
