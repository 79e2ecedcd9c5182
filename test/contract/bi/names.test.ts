import { expect, test } from 'vitest';
import { staleFacts } from '../../support/facts.ts';
import { testDatabase } from '../../support/postgres.ts';
import { until } from '../../support/processes.ts';

/** Changes with names and no ids get the ids that other changes give to these names. */

const base = `
  insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://one');
  insert into tracker.statuses (source_id, id, name, category) values (1, 1, 'To Do', 'todo');
  insert into tracker.issues (source_id, id, key, project_id, status_id, created_at, updated_at)
    select 1, n, 'P-' || n, 10, 1, '2024-01-01Z', '2024-03-01Z' from generate_series(1, 4) n`;

/** The issue gets an assignee; a null id: by the name alone. */
const assigned = (history: number, issue: number, id: string | null, name: string): string =>
  `insert into tracker.issue_changelog
    (source_id, history_id, item, issue_id, changed_at, field_id, field_name, to_id, to_text)
    values (1, ${history}, 0, ${issue}, '2024-01-02Z', 'assignee', 'assignee', ${id === null ? 'null' : `'${id}'`}, '${name}')`;

const names = `select string_agg(name || ' ' || value_id, ', ' order by name) as names
  from tracker.value_names where kind = 'person'`;
const idOf = (issue: number): string => `select value_id from tracker.issue_value_intervals
  where issue_id = ${issue} and field_name = 'assignee' and valid_from = '2024-01-02Z'`;

test('names in changes are noted when the first change has a name alone, those of former changes before', async () => {
  const database = await testDatabase();
  const query = async (text: string) => (await database.warehouse.pool.query(text)).rows;
  try {
    await query(base);
    await query(assigned(1, 1, 'acc-1', 'Former Name'));
    await query(assigned(2, 2, 'acc-2', 'Present Name'));
    expect(await query(names)).toEqual([{ names: null }]);

    await query('delete from tracker.issue_changelog where history_id = 1');
    expect(await query(names)).toEqual([{ names: 'Former Name acc-1' }]);

    await query(assigned(3, 3, null, 'Former Name'));
    expect(await query(idOf(3))).toEqual([{ value_id: 'acc-1' }]);
    expect(await query(names)).toEqual([{ names: 'Former Name acc-1, Present Name acc-2' }]);

    await query(assigned(4, 4, 'acc-4', 'Later Name'));
    expect(await query(names)).toEqual([
      { names: 'Former Name acc-1, Later Name acc-4, Present Name acc-2' },
    ]);
    expect(await staleFacts(query)).toEqual([]);
  } finally {
    await database.drop();
  }
});

test('the first change with a name alone waits for names that others are writing', async () => {
  const database = await testDatabase();
  const { pool } = database.warehouse;
  const writer = await pool.connect();
  try {
    await pool.query(base);
    await writer.query(`begin; ${assigned(1, 1, 'acc-1', 'Ada')}; set constraints all immediate`);
    const waiting = pool.query(assigned(2, 2, null, 'Ada'));
    await until('the second waits for the first', async () => {
      const { rows } = await pool.query(
        `select from pg_locks l join pg_database d on d.oid = l.database
          where d.datname = current_database() and l.relation = 'tracker.names_lock_1'::regclass and not l.granted`,
      );
      return rows.length > 0;
    });
    await writer.query('commit');
    await waiting;
    expect((await pool.query(idOf(2))).rows).toEqual([{ value_id: 'acc-1' }]);
  } finally {
    writer.release();
    await database.drop();
  }
});
