import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { databaseUrl } from '../support/postgres.ts';
import { type Cut, postgresProxy } from '../support/postgres-proxy.ts';
import type { Ear } from '../support/postgres-wire.ts';
import { removeDatabase } from '../support/spares.ts';
import { tidemark } from '../support/tidemark.ts';
import type { Rows } from './books.ts';
import type { Stage } from './stage.ts';

/** Which messages are points to crash at. */
export type Counting = () => Ear;

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
export async function crash(stage: Stage, cut: Cut, counting: Counting): Promise<Outcome> {
  const name = await stage.fresh();
  let kill = (): void => {};
  const proxy = await postgresProxy(databaseUrl(name), cut, () => kill(), counting);
  const victim = tidemark(stage.words, stage.environment(proxy.url));
  kill = () => victim.child.kill('SIGKILL');
  const ended = await victim.ended();
  await proxy.close();
  const wrong: string[] = [];
  const outcome = (): Outcome => ({
    struck: proxy.cut,
    messages: proxy.heard.length,
    kind: proxy.heard[cut.n - 1],
    wrong:
      wrong.length === 0
        ? []
        : [`${cut.side} message ${cut.n} (${proxy.heard[cut.n - 1]}), in ${name}`, ...wrong],
  });
  if (ended !== (proxy.cut ? 'SIGKILL' : 0)) wrong.push(`the program ended with ${ended}: ${victim.said()}`);
  const warehouse = await connect(databaseUrl(name), { max: 1 });
  try {
    if (proxy.cut) {
      wrong.push(
        ...(await inOneMoment(warehouse, (rows) => stage.atOnce(rows))).map((line) => `at once: ${line}`),
      );
      const heir = tidemark(stage.words, stage.environment(databaseUrl(name)));
      const code = await heir.ended();
      if (code !== 0) wrong.push(`the run after it ended with ${code}: ${heir.said()}`);
    }
    wrong.push(
      ...(await inOneMoment(warehouse, (rows) => stage.inTheEnd(rows))).map((line) => `then: ${line}`),
    );
  } finally {
    await warehouse.close();
  }
  if (wrong.length === 0) await removeDatabase(name);
  return outcome();
}

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
