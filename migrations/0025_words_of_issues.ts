import { type Kysely, sql } from 'kysely';

/**
 * What an issue calls its status, its type and its priority. A server that lists none of these (the contract promises no such list) tells them
 * with each issue: nothing kept them, so statuses had no names and no categories, and nothing was ever done.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [name, [type, about]] of Object.entries(columns)) {
    await sql.raw(`alter table tracker.issues add column ${name} ${type}`).execute(db);
    await sql.raw(`comment on column tracker.issues.${name} is '${about}'`).execute(db);
  }
}

const columns: Readonly<Record<string, readonly [type: string, about: string]>> = {
  status: ['text', 'Name of the status when the issue was read; the name of today: tracker.statuses.'],
  status_category: [
    `text check (status_category in ('todo', 'in_progress', 'done', 'unknown'))`,
    'What the status meant when the issue was read: todo, in_progress, done, or unknown where the issue does not say.',
  ],
  issue_type: ['text', 'Name of the type when the issue was read; the name of today: tracker.issue_types.'],
  is_subtask: ['boolean', 'True for a type of sub-tasks; null where the issue does not say.'],
  priority: ['text', 'Name of the priority when the issue was read; the name of today: tracker.priorities.'],
};
