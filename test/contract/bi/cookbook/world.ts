import type pg from 'pg';

/** One stay of an issue in a status, replayed from its changelog. Instants are epoch milliseconds. */
export interface Stay {
  readonly status: string;
  readonly category: string;
  readonly from: number;
  /** Undefined for the present one. */
  readonly to: number | undefined;
}

/** A change of any field. */
export interface FieldChange {
  readonly at: number;
  readonly field: string;
  readonly was: string | undefined;
  readonly became: string | undefined;
}

export interface Issue {
  readonly id: string;
  readonly key: string;
  readonly project: string;
  readonly type: string;
  readonly category: string;
  readonly reporter: string | undefined;
  readonly assignee: string | undefined;
  readonly points: number | undefined;
  readonly created: number;
  readonly resolved: number | undefined;
  readonly due: string | undefined;
  readonly changes: readonly FieldChange[];
  readonly stays: readonly Stay[];
  /** The sprints that it is in today. */
  readonly sprints: readonly string[];
}

export interface Sprint {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly board: string;
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly completed: number | undefined;
}

/** What the tables of the tracker say, read plainly; what comes of it is computed by whoever asks, in TypeScript. */
export interface World {
  readonly now: number;
  readonly issues: readonly Issue[];
  readonly sprints: readonly Sprint[];
  readonly people: ReadonlyMap<string, string>;
  readonly comments: readonly {
    readonly issue: string;
    readonly author: string | undefined;
    readonly isPublic: boolean;
    readonly at: number;
  }[];
  /** Runs of DAGs that ended. */
  readonly runs: readonly {
    readonly dag: string;
    readonly state: string;
    readonly started: number;
    readonly finished: number;
  }[];
}

const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/** In the transaction of `client`, so that its now() is the one of the questions. */
export async function readWorld(client: pg.ClientBase): Promise<World> {
  const rows = async <R extends object>(text: string): Promise<readonly R[]> =>
    (await client.query<R>(text)).rows;
  const [{ now } = { now: 0 }] = await rows<{ now: number }>(`select ${ms('now()')} as now`);
  const statuses = new Map(
    (await rows<{ id: string; name: string; category: string }>('select * from tracker.statuses')).map(
      (status) => [String(status.id), status],
    ),
  );
  const changes = Map.groupBy(
    await rows<FieldChange & { issue: string }>(`select issue_id::text as issue, ${ms('changed_at')} as at,
      field_id as field, coalesce(from_id, from_text) as was, coalesce(to_id, to_text) as became from tracker.issue_changelog
      order by changed_at, history_id, item`),
    ({ issue }) => issue,
  );
  const members = Map.groupBy(
    await rows<{ issue: string; sprint: string }>(`select issue_id::text as issue, sprint_id::text as sprint
      from tracker.issue_sprints union select issue_id::text, sprint_id::text from tracker.sprint_issues`),
    ({ issue }) => issue,
  );
  const issues = await rows<Omit<Issue, 'changes' | 'stays' | 'sprints'> & { status: string }>(
    `select i.id::text as id, i.key, p.key as project, t.name as type, s.category, i.status_id::text as status,
      i.reporter_id as reporter, i.assignee_id as assignee, i.story_points::float8 as points, ${ms('i.created_at')} as created,
      ${ms('i.resolved_at')} as resolved, i.due_date::text as due
     from tracker.issues i join tracker.projects p on p.id = i.project_id
     join tracker.issue_types t on t.id = i.issue_type_id join tracker.statuses s on s.id = i.status_id
     where i._deleted_at is null and i.security_level is null`,
  );
  const people = await rows<{ id: string; name: string }>(
    'select id, display_name as name from tracker.users',
  );
  return {
    now,
    issues: issues.map((issue) => {
      const own = changes.get(issue.id) ?? [];
      const stays = staysOf(
        issue,
        own.filter(({ field }) => field === 'status'),
      ).map(({ status, ...rest }) => ({
        ...rest,
        status: statuses.get(status)?.name ?? '',
        category: statuses.get(status)?.category ?? 'unknown',
      }));
      return { ...issue, changes: own, stays, sprints: members.get(issue.id)?.map((m) => m.sprint) ?? [] };
    }),
    sprints:
      await rows<Sprint>(`select s.id::text as id, s.name, s.state, b.name as board, ${ms('start_at')} as start,
      ${ms('end_at')} as end, ${ms('completed_at')} as completed
      from tracker.sprints s left join tracker.boards b on b.id = s.board_id where s._deleted_at is null`),
    people: new Map(people.map(({ id, name }) => [id, name])),
    comments: await rows<World['comments'][number]>(`select issue_id::text as issue, author_id as author,
      is_public is not false as "isPublic", ${ms('created_at')} as at
      from tracker.comments where _deleted_at is null order by created_at, id`),
    runs: await rows<World['runs'][number]>(`select dag_name as dag, state, ${ms('started_at')} as started,
      ${ms('finished_at')} as finished from workflow.dag_runs where finished_at is not null`),
  };
}

/** From the status before the first change on, one stay after the other. */
function staysOf(
  { created, status }: { readonly created: number; readonly status: string },
  changes: readonly FieldChange[],
): readonly Omit<Stay, 'category'>[] {
  const visited = [{ status: changes[0]?.was ?? status, from: created }];
  for (const { at, became } of changes) visited.push({ status: became ?? '', from: at });
  return visited.map((visit, n) => ({ ...visit, to: visited[n + 1]?.from }));
}

export const dayMs = 86_400_000;

export const days = (duration: number): number => Math.max(0, duration) / dayMs;
export const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
export const monthOf = (at: number): string => `${dateOf(at).slice(0, 7)}-01`;
/** The Monday of its week. */
export const weekOf = (at: number): string => dateOf(at - ((new Date(at).getUTCDay() + 6) % 7) * dayMs);

/** As percentile_cont: between two values by how far it is from each; undefined of none. */
export function percentile(share: number, list: readonly number[]): number | undefined {
  const sorted = list.toSorted((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const low = sorted[Math.floor(place)];
  const high = sorted[Math.ceil(place)];
  if (low === undefined || high === undefined) return undefined;
  return low + (high - low) * (place - Math.floor(place));
}

export const sum = (list: readonly (number | undefined)[]): number =>
  list.reduce<number>((all, each) => all + (each ?? 0), 0);

/** Rows of groups: the parts of the key first, then what `of` gives. */
export function grouped<T>(
  list: readonly T[],
  key: (each: T) => readonly string[],
  of: (group: readonly T[]) => readonly unknown[],
): readonly (readonly unknown[])[] {
  const groups = Map.groupBy(list, (each) => JSON.stringify(key(each)));
  return [...groups].map(([parts, group]) => [...JSON.parse(parts), ...of(group)]);
}

/** The value of a field at an instant: what the last change until then made it, else what the next one found, else today's. */
export function valueAt(
  issue: Issue,
  field: string,
  at: number,
  today: string | undefined,
): string | undefined {
  const changes = issue.changes.filter((change) => change.field === field);
  const latest = changes.findLast((change) => change.at <= at);
  if (latest !== undefined) return latest.became;
  const next = changes.find((change) => change.at > at);
  return next === undefined ? today : next.was;
}

export function pointsAt(issue: Issue, at: number): number | undefined {
  const points = valueAt(issue, 'customfield_10016', at, String(issue.points ?? ''));
  return points === undefined || points === null || points === '' ? undefined : Number(points);
}
