import type { Oracle } from '../../src/simulator/tracker/oracle.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { differences, type Sides } from '../support/oracle.ts';
import { type Cut, postgresProxy } from '../support/postgresProxy.ts';
import { environment, tidemark } from '../support/tidemark.ts';
import { databaseUrl, dropDatabase, type Stage } from './stage.ts';

/** What became of one crash point. */
export interface Outcome {
  /** False: the run was over before the cut. */
  readonly struck: boolean;
  /** Messages that the program had sent when it was killed, or in all. */
  readonly messages: number;
  /** The message at the cut. */
  readonly kind: string | undefined;
  /** What did not hold, one line each; then the database is kept. */
  readonly wrong: readonly string[];
}

/** Runs the stage's command, kills it with SIGKILL at the cut, checks what must hold at once, runs it again and checks what must hold then. */
export async function crash(stage: Stage, cut: Cut): Promise<Outcome> {
  const name = await stage.fresh();
  let kill = (): void => {};
  const proxy = await postgresProxy(databaseUrl(name), cut, () => kill());
  const victim = tidemark(stage.words, environment(stage.tracker, proxy.url));
  kill = () => victim.child.kill('SIGKILL');
  const ended = await victim.ended();
  await proxy.close();
  const wrong: string[] = [];
  const outcome = (): Outcome => ({
    struck: proxy.cut,
    messages: proxy.heard.length,
    kind: proxy.heard[cut.n - 1],
    wrong: wrong.length === 0 ? [] : [`${cut.side} message ${cut.n} (${proxy.heard[cut.n - 1]}), in ${name}`, ...wrong],
  });
  if (ended !== (proxy.cut ? 'SIGKILL' : 0)) wrong.push(`the program ended with ${ended}: ${victim.said()}`);
  const warehouse = await connect(databaseUrl(name), { max: 1 });
  try {
    if (proxy.cut) {
      wrong.push(...(await inOneMoment(warehouse, (rows) => atOnce(stage, rows))).map((line) => `at once: ${line}`));
      const heir = tidemark(stage.words, environment(stage.tracker, databaseUrl(name)));
      const code = await heir.ended();
      if (code !== 0) wrong.push(`the run after it ended with ${code}: ${heir.said()}`);
    }
    wrong.push(...(await inOneMoment(warehouse, (rows) => inTheEnd(stage, rows))).map((line) => `then: ${line}`));
  } finally {
    await warehouse.close();
  }
  if (wrong.length === 0) await dropDatabase(name);
  return outcome();
}

type Rows = Sides['rows'];

/** All questions see the warehouse at one moment: a server may still be busy with what a dead client sent. */
async function inOneMoment<T>({ pool }: Warehouse, ask: (rows: Rows) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const rows: Rows = async (query, parameters = []) => (await client.query(query, [...parameters])).rows;
    const answer = await ask(rows);
    await client.query('commit');
    return answer;
  } finally {
    client.release(true);
  }
}

const sides = (truth: Oracle, rows: Rows): Sides => ({ tracker: { oracle: () => truth }, rows });
const ofIssues = /^(issues|issue_(labels|components|versions|links|sprints|changelog|keys)|comments|worklogs) /;

/** Guarantees G1, G2 and G13 at any instant: whole issues only, no checkpoint ahead of its data, counts as the rows are. */
async function atOnce(stage: Stage, rows: Rows): Promise<readonly string[]> {
  const [schema] = await rows<{ there: boolean }>(`select to_regclass('tracker.issue_keys') is not null as there`);
  if (schema?.there !== true) return [];
  return [...(await wholeIssues(stage, rows)), ...(await checkpointsHold(stage, rows)), ...(await countsHold(rows))];
}

/** Every issue is there as it was or as it is, with all that hangs on it; never half of it. */
async function wholeIssues({ old, truth }: Stage, rows: Rows): Promise<readonly string[]> {
  const all = await rows<{ id: string; at: Date; dead: boolean }>(
    'select id::text, updated_at as at, _deleted_at is not null as dead from tracker.issues',
  );
  const stored = new Map(all.filter((row) => !row.dead).map((row) => [row.id, row.at.getTime()]));
  const lines: string[] = [];
  const known = new Set<string>();
  for (const state of old === undefined ? [truth] : [old, truth]) {
    const others: string[] = [];
    for (const issue of state.issues.values())
      if (stored.get(issue.id) === issue.updated) known.add(issue.id);
      else others.push(issue.id);
    // What is not known to this truth yet must not count as foreign: it is compared with the other one.
    for (const id of stored.keys()) if (!state.issues.has(id)) others.push(id);
    const found = await differences(sides(withGhosts(state, others), rows), { except: others, deletedMayLive: true });
    lines.push(...found.filter((line) => ofIssues.test(line)));
  }
  for (const { id, dead } of all)
    if (dead && truth.issues.get(id)?.deleted !== true) lines.push(`issue ${id} is not dead`);
  for (const id of stored.keys()) if (!known.has(id)) lines.push(`issue ${id} is neither as it was nor as it is`);
  return lines;
}

/** The truth with stand-ins for issues that it does not know, so that they can be left out of a comparison. */
function withGhosts(truth: Oracle, ids: readonly string[]): Oracle {
  const [some] = truth.issues.values();
  if (some === undefined) return truth;
  const unknown = ids.filter((id) => !truth.issues.has(id));
  return { ...truth, issues: new Map([...truth.issues, ...unknown.map((id) => [id, { ...some, id }] as const)]) };
}

/** What a checkpoint of this run claims is in the warehouse. */
async function checkpointsHold({ truth, clock }: Stage, rows: Rows): Promise<readonly string[]> {
  const claims = await rows<{ stream: string }>('select stream from ops.checkpoints where watermark >= $1', [clock]);
  if (claims.length === 0) return [];
  const claimed = new Set(claims.map((row) => row.stream));
  const lines = await differences(sides(truth, rows), { deletedMayLive: true });
  return lines
    .filter((line) => claimed.has(ofIssues.test(line) ? 'issues' : (line.split(' ')[0] ?? '')))
    .map((line) => `the checkpoint is ahead: ${line}`);
}

/** Each stream of the newest run: its records add up, and as many rows bear its name as it says it wrote. */
async function countsHold(rows: Rows): Promise<readonly string[]> {
  const streams = await rows<{
    stream: string;
    target: string;
    balance: string;
    written: string;
    marked: string;
    run_id: string;
    tombstones: boolean;
  }>(
    `select r.stream, s.target, r.run_id::text, (r.inserted + r.updated)::text as written, r.deleted::text as marked,
       (r.received - r.inserted - r.updated - r.unchanged - r.deduplicated - r.superseded - r.rejected)::text as balance,
       exists (select from pg_attribute where attrelid = s.target::regclass and attname = '_deleted_at') as tombstones
     from ops.run_streams r join ops.streams s using (source_id, stream)
     where r.run_id = (select max(run_id) from ops.runs)`,
  );
  const lines: string[] = [];
  for (const { stream, target, balance, written, marked, run_id, tombstones } of streams) {
    const [counted] = await rows<{ live: string; dead: string }>(
      `select count(*) filter (where ${tombstones ? '_deleted_at is null' : 'true'})::text as live,
         count(*) filter (where ${tombstones ? '_deleted_at is not null' : 'false'})::text as dead
       from ${target} where _run_id = $1`,
      [run_id],
    );
    if (balance !== '0') lines.push(`${stream}: ${balance} records are not accounted for`);
    if (counted?.live !== written)
      lines.push(`${stream}: it says it wrote ${written} rows, there are ${counted?.live}`);
    // Rows of children and relations are removed without a trace; tombstones stay.
    if (Number(counted?.dead) > Number(marked)) lines.push(`${stream}: ${counted?.dead} tombstones, it says ${marked}`);
  }
  return lines;
}

/** After a run that nothing hurt: the warehouse equals the source, and the books are closed. */
async function inTheEnd(stage: Stage, rows: Rows): Promise<readonly string[]> {
  const isCensus = stage.words[0] === 'census';
  const unfinished = await rows<{ line: string }>(
    `select 'run ' || run_id || ' is ' || status as line from ops.runs where status not in ('succeeded', 'lost')
     union all select 'walk ' || walk_id || ' of ' || stream || ' is open' from ops.walks where status = 'open'
     union all select 'the lease is held by ' || holder from ops.leases where holder is not null
     union all select 'more than one run was lost' where (select count(*) from ops.runs where status = 'lost') > 1`,
  );
  const claims = await rows<{ stream: string }>(
    'select stream from ops.checkpoints where watermark is distinct from $1 order by stream',
    [stage.clock],
  );
  return [
    ...unfinished.map((row) => row.line),
    ...(isCensus ? [] : claims.map((row) => `the checkpoint of ${row.stream} did not move`)),
    ...(await countsHold(rows)),
    // Which issues a sprint has is the next sync's business.
    ...(await differences(sides(stage.truth, rows), { deletedMayLive: !isCensus })).filter(
      (line) => !(isCensus && line.startsWith('sprint_issues ')),
    ),
  ];
}
