import fc from 'fast-check';
import { expect, test } from 'vitest';
import { staleFacts } from '../../support/facts.ts';
import { testDatabase } from '../../support/postgres.ts';

const at = fc
  .integer({ min: 0, max: 400 })
  .map((hours) => `timestamptz '2024-03-01Z' + interval '${hours} hours'`);
const of = (...values: readonly (string | number)[]) => fc.constantFrom(...values);
const issue = fc.integer({ min: 1, max: 4 });
const sprint = fc.integer({ min: 1, max: 3 });
const status = fc.integer({ min: 1, max: 5 });
const history = fc.integer({ min: 1, max: 30 });
const lists = of("''", "'1'", "'1, 2'", "'2'", "'3'", "'9, 1'", 'null');
const points = of('null', "'3'", "'5.5'", "'no number'", "''");

/** A value by its id and its name; sometimes by the name alone. */
const named = (value: fc.Arbitrary<string | number>) =>
  fc.tuple(value, of('name', 'name', 'id', 'none')).map(([id, by]) => ({
    id: by === 'none' ? 'null' : id,
    text: by === 'id' || id === 'null' || id === "''" ? id : `'Name ' || ${id}`,
  }));

const numbered = (value: fc.Arbitrary<string | number>) => value.map((id) => ({ id, text: id }));

const change = (field: string, name: string, values: fc.Arbitrary<string | number>) => {
  const value = name === 'Story Points' ? numbered(values) : named(values);
  return fc.tuple(history, issue, at, value, value).map(
    ([id, of, when, from, to]) => `insert into tracker.issue_changelog
      (source_id, history_id, item, issue_id, changed_at, author_id, field_id, field_name, from_id, from_text, to_id, to_text)
      values (1, ${id}, ${field.length}, ${of}, ${when}, 'ann', '${field}', '${name}', ${from.id}, ${from.text}, ${to.id}, ${to.text})
      on conflict (source_id, history_id, item) do update
        set issue_id = excluded.issue_id, changed_at = excluded.changed_at, to_id = excluded.to_id, to_text = excluded.to_text`,
  );
};

const pair = (table: string, columns: string) =>
  fc.oneof(
    fc.tuple(issue, sprint).map(
      ([i, s]) => `insert into tracker.${table} (source_id, issue_id, sprint_id)
      values (1, ${i}, ${s}) on conflict do nothing`,
    ),
    fc
      .tuple(issue, sprint)
      .map(([i, s]) => `delete from tracker.${table} where (${columns}) = (1, ${i}, ${s})`),
  );

const update = (table: string, id: fc.Arbitrary<string | number>, set: fc.Arbitrary<string>) =>
  fc
    .tuple(id, set)
    .map(([key, to]) => `update tracker.${table} set ${to} where source_id = 1 and id = ${key}`);

/** What a sync, a reconciliation, a replay or a person may do to the tables that facts follow from. */
const step = fc.oneof(
  {
    arbitrary: fc.tuple(issue, of(10, 20), status, points, at, at).map(
      ([id, project, now, estimate, created, resolved]) => `insert into tracker.issues
      (source_id, id, key, project_id, status_id, creator_id, story_points, created_at, updated_at, resolved_at)
      values (1, ${id}, 'P-${id}', ${project}, ${now}, 'ann', tracker.points_of(${estimate}), ${created}, now(), ${resolved})
      on conflict (source_id, id) do update set project_id = excluded.project_id, status_id = excluded.status_id,
        story_points = excluded.story_points, resolved_at = excluded.resolved_at, _deleted_at = null`,
    ),
    weight: 4,
  },
  {
    arbitrary: change('status', 'status', of("'1'", "'2'", "'3'", "'4'", "'5'", "'77'", 'null', "'odd'")),
    weight: 4,
  },
  { arbitrary: change('customfield_7', 'Sprint', lists), weight: 3 },
  { arbitrary: change('customfield_8', 'Story Points', points), weight: 2 },
  // Another field for the same, which may change in turns with the first.
  { arbitrary: change('customfield_09', 'Story Points', points), weight: 2 },
  change('assignee', 'assignee', of("'ann'", "'bob'", "''", 'null')),
  change('priority', 'priority', of("'1'", "'2'")),
  change('fixVersions', 'Fix Version', of("'1'", "'2'", "''")),
  update(
    'issues',
    issue,
    fc.constantFrom(
      '_deleted_at = now()',
      '_deleted_at = null',
      `security_level = 'Board'`,
      'security_level = null',
      `assignee_id = 'bob'`,
      'assignee_id = null',
      'priority_id = 2',
      'priority_id = null',
      'story_points = 8',
      `custom_fields = '{"customfield_8": 8}'`,
      `custom_fields = '{"customfield_09": 5, "customfield_8": null}'`,
    ),
  ),
  fc
    .tuple(history)
    .map(([id]) => `delete from tracker.issue_changelog where source_id = 1 and history_id = ${id}`),
  fc.tuple(issue).map(([id]) => `delete from tracker.issues where source_id = 1 and id = ${id}`),
  update(
    'statuses',
    status,
    fc.constantFrom(
      `category = 'done'`,
      `category = 'todo'`,
      `category = 'in_progress'`,
      `name = 'Renamed'`,
      '_deleted_at = now()',
    ),
  ),
  fc.constant(`insert into tracker.statuses (source_id, id, name, category) values (1, 77, 'Late', 'done')
    on conflict do nothing`),
  fc.tuple(sprint, of('future', 'active', 'closed', 'odd'), at, at, fc.oneof(at, fc.constant('null'))).map(
    ([id, state, start, end, completed]) => `insert into tracker.sprints
      (source_id, id, name, state, start_at, end_at, completed_at)
      values (1, ${id}, 'S', '${state}', ${start}, ${end}, ${completed})
      on conflict (source_id, id) do update set state = excluded.state, start_at = excluded.start_at,
        end_at = excluded.end_at, completed_at = excluded.completed_at, _deleted_at = null`,
  ),
  {
    arbitrary: update(
      'sprints',
      sprint,
      fc.oneof(
        fc.constantFrom(
          '_deleted_at = now()',
          '_deleted_at = null',
          'start_at = null',
          `state = 'active'`,
          `state = 'closed'`,
        ),
        fc.tuple(of('start_at', 'end_at', 'completed_at'), at).map((set) => set.join(' = ')),
      ),
    ),
    weight: 4,
  },
  pair('issue_sprints', 'source_id, issue_id, sprint_id'),
  // What no board lists, an issue may close.
  fc.tuple(issue, sprint, of('active', 'closed'), at).map(
    ([
      i,
      s,
      state,
      completed,
    ]) => `insert into tracker.issue_sprints (source_id, issue_id, sprint_id, state, completed_at)
      values (1, ${i}, ${s}, '${state}', ${completed})
      on conflict (source_id, issue_id, sprint_id) do update set state = excluded.state, completed_at = excluded.completed_at`,
  ),
  sprint.map(
    (id) => `insert into tracker.board_sprints (source_id, board_id, sprint_id)
    values (1, 7, ${id}) on conflict do nothing`,
  ),
  sprint.map((id) => `delete from tracker.board_sprints where sprint_id = ${id}`),
  // People, statuses, priorities and sprints get names, and two may have the same.
  fc
    .tuple(of('statuses', 'priorities', 'sprints'), sprint, of(1, 2, 4, 77))
    .map(([table, id, as]) => `update tracker.${table} set name = 'Name ${as}' where id = ${id}`),
  fc.tuple(of('ann', 'bob', 'cid'), of('ann', 'bob')).map(
    ([
      id,
      name,
    ]) => `insert into tracker.users (source_id, id, display_name) values (1, '${id}', 'Name ${name}')
      on conflict (source_id, id) do update set display_name = excluded.display_name`,
  ),
  pair('sprint_issues', 'source_id, issue_id, sprint_id'),
  fc.tuple(history, issue, at).map(
    ([id, of, when]) => `insert into tracker.comments
    (source_id, id, issue_id, created_at, updated_at) values (1, ${id}, ${of}, ${when}, ${when})
    on conflict (source_id, id) do update set issue_id = excluded.issue_id, _deleted_at = null`,
  ),
  update('comments', history, fc.constant('_deleted_at = now()')),
  fc.tuple(issue, sprint).map(
    ([id, version]) => `insert into tracker.issue_versions (source_id, issue_id, kind, version_id, name)
      values (1, ${id}, 'fix', ${version}, 'V') on conflict do nothing`,
  ),
  issue.map((id) => `delete from tracker.issue_versions where source_id = 1 and issue_id = ${id}`),
  fc.constantFrom(
    `insert into ref.history_fields values ('tracker', 'customfield_8', 'size') on conflict do nothing`,
    'delete from ref.history_fields',
  ),
  fc.constantFrom(
    `insert into tracker.fields (source_id, id, name, custom, role)
      values (1, 'customfield_7', 'Sprint', true, 'sprint') on conflict do nothing`,
    `insert into tracker.fields (source_id, id, name, custom, role)
      values (1, 'customfield_8', 'Story Points', true, 'story_points') on conflict do nothing`,
    `update tracker.fields set role = null where id = 'customfield_8'`,
    `update tracker.fields set role = 'story_points' where id = 'customfield_8'`,
    `update tracker.fields set role_place = 0 where role = 'story_points'`,
    `update tracker.fields set role_place = 1 where id = 'customfield_09'`,
  ),
);

/** Steps of one transaction; some are rolled back. */
const transaction = fc.tuple(
  fc.array(step, { minLength: 1, maxLength: 6 }),
  of('commit', 'commit', 'commit', 'rollback'),
);
const vocabulary = `
  insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://one');
  insert into tracker.statuses (source_id, id, name, category) values
    (1, 1, 'To Do', 'todo'), (1, 2, 'Doing', 'in_progress'), (1, 3, 'Review', 'in_progress'), (1, 4, 'Done', 'done'), (1, 5, 'Closed', 'done');
  insert into tracker.fields (source_id, id, name, custom, role) values
    (1, 'customfield_7', 'Sprint', true, 'sprint'),
    (1, 'customfield_8', 'Story Points', true, 'story_points'),
    (1, 'customfield_09', 'Story Points', true, 'story_points');
  insert into tracker.priorities (source_id, id, name) values (1, 1, 'Urgent'), (1, 2, 'Normal');
  insert into tracker.sprints (source_id, id, name, state, start_at, end_at, completed_at)
    select 1, n, 'S', 'closed', at, at + interval '4 days', at + interval '5 days'
    from generate_series(1, 3) n, lateral (select timestamptz '2024-03-01Z' + n * interval '100 hours' as at) t;
  insert into tracker.issues (source_id, id, key, project_id, status_id, story_points, created_at, updated_at)
    select 1, n, 'P-' || n, 10, 4, n, '2024-03-01Z', now() from generate_series(1, 4) n;
  insert into tracker.issue_sprints (source_id, issue_id, sprint_id)
    select 1, n, s from generate_series(1, 4) n, generate_series(1, 3) s`;

/** Fields of which an issue has no value today, or several: of each it has one, whether or not it ever changed. */
const notOneValue = `
  select i.issue_key, f.field_name, count(h.issue_id)
  from bi.issues i
  cross join unnest(array['status', 'assignee', 'priority', 'story_points']) f (field_name)
  left join bi.issue_field_history h
    on h.source = i.source and h.issue_id = i.issue_id and h.field_name = f.field_name and h.is_current
  group by i.issue_key, f.field_name
  having count(h.issue_id) <> 1`;

test('facts that every write has kept are those that a rebuild makes, and each issue has one value a field', {
  timeout: 180_000,
}, async () => {
  const database = await testDatabase();
  const { pool } = database.warehouse;
  const query = async (text: string) => (await pool.query(text)).rows;
  try {
    await query(vocabulary);
    let lines = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(transaction, { minLength: 1, maxLength: 12 }), async (transactions) => {
        for (const [steps, end] of transactions) await query(['begin', ...steps, end].join(';\n'));
        expect(await staleFacts(query)).toEqual([]);
        expect(await query(notOneValue)).toEqual([]);
        const [counted] = await query('select count(*)::int as n from tracker.sprint_burndown_changes');
        lines += counted.n;
        // The next history goes on from here.
      }),
      { numRuns: 40, ...(process.env.MODEL_SEED && { seed: Number(process.env.MODEL_SEED) }) },
    );
    expect(lines).toBeGreaterThan(0);
  } finally {
    await database.drop();
  }
});

test('a sprint that lists an issue again counts, though its history says that it left', async () => {
  const database = await testDatabase();
  const query = async (text: string) => (await database.warehouse.pool.query(text)).rows;
  try {
    await query(vocabulary);
    await query(`delete from tracker.issue_sprints where issue_id = 1;
      insert into tracker.issue_changelog
        (source_id, history_id, item, issue_id, changed_at, field_id, field_name, from_id, to_id) values
        (1, 1, 0, 1, '2024-03-02Z', 'customfield_7', 'Sprint', '', '1, 2'),
        (1, 2, 0, 1, '2024-03-03Z', 'customfield_7', 'Sprint', '1, 2', '2')`);
    await query(
      'insert into tracker.sprint_issues (source_id, issue_id, sprint_id) values (1, 1, 1), (1, 1, 2)',
    );
    expect(await staleFacts(query)).toEqual([]);
  } finally {
    await database.drop();
  }
});
