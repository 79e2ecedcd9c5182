/** Asks the API of the processes for runs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/processes.ts';
import { ask } from '../unit/server/api/api.ts';
import type { Member } from './fleet.ts';
import { eventually, type Waiting } from './pace.ts';

/** The processes that are asked, and what they answered. */
export interface Asking extends Waiting {
  readonly members: readonly Member[];
  readonly asked: Asked;
}

/** What the starts of a campaign were answered. */
export interface Asked {
  /** Ids of requests that were answered 202. */
  readonly accepted: Set<string>;
  /** How many starts had each answer: a status, or the name of an error. */
  readonly answers: Map<string, number>;
}

/** The id of an accepted request, or why there is none. */
type Answer = { readonly id: string } | { readonly refusal: string };

interface Start {
  readonly name: string;
  readonly params?: string | undefined;
  /** The same id is the same request, however often it is asked for. */
  readonly runId?: string;
}

/** Asks a process for a run, and waits five seconds for its answer. */
export async function start({ asked }: Asking, member: Member | undefined, what: Start): Promise<Answer> {
  const { name, params, runId } = what;
  if (member?.base === undefined) return { refusal: 'no process listens' };
  const body = JSON.stringify({ params, runId });
  const headers = { 'content-type': 'application/json' };
  const how = { method: 'POST', headers, body, signal: AbortSignal.timeout(5_000) };
  const answer = await ask(`${member.base}/api/v1/dags/${name}/start`, how).catch((error: Error) => error);
  const kind = answer instanceof Error ? answer.name : String(answer.code);
  asked.answers.set(kind, (asked.answers.get(kind) ?? 0) + 1);
  if (answer instanceof Error) return { refusal: `${answer.name}: ${answer.message}` };
  if (answer.code !== 202) return { refusal: `${answer.code} ${answer.body?.message ?? answer.text}` };
  const { runId: id } = answer.body.data;
  asked.accepted.add(id);
  return { id };
}

let serial = 0;

/** Asks one process after the other until the request is accepted; gives its id. Throws with all that was answered. */
export async function taken(asking: Asking, { name, params }: Start): Promise<string> {
  const id = `${name}-closing-${++serial}`;
  const refusals = new Map<string, number>();
  let turn = 0;
  const isTaken = async (): Promise<boolean> => {
    const member = asking.members[turn++ % asking.members.length];
    const answer = await start(asking, member, { name, params, runId: id });
    if ('id' in answer) return true;
    refusals.set(answer.refusal, (refusals.get(answer.refusal) ?? 0) + 1);
    return false;
  };
  const why = () => [...refusals].map(([refusal, times]) => `\n${times} times: ${refusal}`).join('');
  await eventually(asking, `${name} ${params ?? 'DOES=sync'} is taken`, isTaken, why);
  return id;
}

/** Asks for a run until it is accepted, and waits until it succeeded. */
export async function succeeds(asking: Asking, what: Start): Promise<void> {
  const id = await taken(asking, what);
  const { rows } = asking;
  const query =
    'select status, error_message from ops.dag_runs where dag_run_id = $1 and finished_at is not null';
  const isOver = async (): Promise<boolean> => {
    const [row] = await rows<{ status: string; error_message: string | null }>(query, [id]);
    if (row !== undefined && row.status !== 'succeeded')
      throw new Error(`${id} ${row.status}: ${row.error_message}`);
    return row !== undefined;
  };
  await eventually(asking, `${id} is over`, isOver, () => unfinished(asking));
}

/** The requests that are not over, with their jobs and the last lines of their logs. */
export async function unfinished({ rows }: Waiting): Promise<string> {
  const found = await rows<{ line: string }>(`
    select concat_ws(' ', dag_run_id, status, worker, 'queued', queued_at, 'started', started_at, 'progress', progress_at, 'lost',
      (select string_agg(concat_ws(' ', 'job', j.state, j.retry_count, j.start_after, j.heartbeat_on), ', ') from pgboss.job j
        where j.data->>'requestId' = d.dag_run_id),
      (select string_agg(l.at || ' ' || l.message, E'\\n  ' order by l.seq) from (
        select * from ops.run_log l where l.dag_run_id = d.dag_run_id order by seq desc limit 30) l)) as line
    from ops.dag_runs d where finished_at is null order by seq`);
  return found.map(({ line }) => `\n${line}`).join('');
}

/** Waits until the source has a connection, and asks its pipeline to run while it has none. Throws where none comes. */
export async function connected(
  asking: Asking,
  { name, wire }: { readonly name: string; readonly wire: { readonly open: number } | undefined },
): Promise<void> {
  const refusals = new Set<string>();
  let turn = 0;
  const isOpen = async (): Promise<boolean> => {
    if ((wire?.open ?? 0) > 0) return true;
    const answer = await start(asking, asking.members[turn++ % asking.members.length], { name });
    if ('refusal' in answer) refusals.add(answer.refusal);
    await sleep(300);
    return (wire?.open ?? 0) > 0;
  };
  await until(`a connection to ${name}`, isOpen, asking.pace.patienceMs).catch((cause: unknown) => {
    throw new Error(`${name} has no connection to cut; starts were answered: ${[...refusals].join('; ')}`, {
      cause,
    });
  });
}
