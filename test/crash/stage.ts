import crypto from 'node:crypto';
import os from 'node:os';
import type { Ask } from '../../src/runs/ask.ts';
import { execute, type RunContext, withDeps } from '../../src/runs/run.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { configOf } from '../support/config.ts';
import { createDatabase, databaseUrl, type TestDatabase } from '../support/postgres.ts';
import { type Cut, postgresProxy } from '../support/postgres-proxy.ts';
import type { Ear } from '../support/postgres-wire.ts';
import { removeDatabase } from '../support/spares.ts';
import { tidemark } from '../support/tidemark.ts';
import type { Rows } from './books.ts';

/** What is killed and what must hold then: a source that does not change, a warehouse to start from, a command, and checks. */
export interface Stage {
  readonly command: Ask;
  /** The variables of a run into the database of this address. */
  environment(databaseUrl: string): NodeJS.ProcessEnv;
  /** A new database in the state to start from; its name. */
  fresh(): Promise<string>;
  /** One line for everything that does not hold at any instant, whatever was cut short. */
  atOnce(rows: Rows): Promise<readonly string[]>;
  /** One line for everything that does not hold after a run that came to its end, and this many that did not. */
  inTheEnd(rows: Rows, kills: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Copies of a database as it is now. */
export async function copiesOf(base: TestDatabase): Promise<Pick<Stage, 'fresh'>> {
  // A database with connections cannot be copied.
  await base.warehouse.close();
  return {
    async fresh() {
      const name = `test_${crypto.randomBytes(6).toString('hex')}`;
      await createDatabase(name, `template ${base.name}`);
      return name;
    },
  };
}

/** Does in this process what the command does in one of its own, and saves the start of one. Throws unless it succeeds. */
export async function ran(ask: Ask, env: NodeJS.ProcessEnv): Promise<void> {
  const warehouse = await connect(env.DATABASE_URL ?? '', { max: 8 });
  const parts = {
    config: async () => configOf(env, os.tmpdir()),
    warehouse: async () => warehouse,
  };
  const context: RunContext = { parts, signal: new AbortController().signal, version: 'test' };
  const silent = { observe: () => undefined, say: () => undefined };
  try {
    const { report } = await withDeps(context, ask.pipeline, silent, (deps) => execute(ask, deps));
    if (report.status !== 'succeeded') throw new Error(`${ask.does} ${report.status}`);
  } finally {
    await warehouse.close();
  }
}

const wordsOf = ({ pipeline, does }: Ask): readonly string[] =>
  does === 'full' ? ['sync', pipeline, '--full'] : [does, pipeline];

/** What came of killing a command. */
export interface Outcome {
  /** How often it was killed: a command that was over before the cut was not. */
  readonly kills: number;
  /** Messages that the last process sent. */
  readonly messages: number;
  /** One line for everything that did not hold; then the database is kept. */
  readonly wrong: readonly string[];
}

/**
 * Runs the stage's command and kills it with SIGKILL at the first cut, runs it again and kills it at the next, and lets the last one end.
 * Checks after each kill what must hold at once, and in the end what must hold then. `counting`: which messages are points to cut at.
 */
export async function crash(stage: Stage, cuts: readonly Cut[], counting: () => Ear): Promise<Outcome> {
  const name = await stage.fresh();
  const warehouse = await connect(databaseUrl(name), { max: 1 });
  const wrong: string[] = [];
  let kills = 0;
  let messages = 0;
  let isOver = false;
  try {
    for (const cut of cuts) {
      const { at, ended } = await killed(stage, name, cut, counting);
      messages = ended.messages;
      isOver = !ended.isCut;
      if (ended.code !== (isOver ? 0 : 'SIGKILL'))
        wrong.push(`${at}it ended with ${ended.code}: ${ended.said}`);
      if (isOver) break;
      kills += 1;
      wrong.push(
        ...(await inOneMoment(warehouse, (rows) => stage.atOnce(rows))).map((line) => `${at}${line}`),
      );
    }
    if (!isOver) await ran(stage.command, stage.environment(databaseUrl(name)));
    wrong.push(...(await inOneMoment(warehouse, (rows) => stage.inTheEnd(rows, kills))));
  } catch (error) {
    wrong.push(String(error));
  } finally {
    await warehouse.close();
  }
  if (wrong.length === 0) await removeDatabase(name);
  return { kills, messages, wrong: wrong.length === 0 ? [] : [`in ${name}:`, ...wrong] };
}

async function killed(stage: Stage, name: string, cut: Cut, counting: () => Ear) {
  let kill = (): void => {};
  const proxy = await postgresProxy(databaseUrl(name), cut, () => kill(), counting);
  const victim = tidemark(wordsOf(stage.command), stage.environment(proxy.url));
  kill = () => victim.child.kill('SIGKILL');
  const code = await victim.ended();
  await proxy.close();
  return {
    at: `${cut.side} message ${cut.n} (${proxy.heard[cut.n - 1]}): `,
    ended: { code, said: victim.said(), isCut: proxy.cut, messages: proxy.heard.length },
  };
}

/** All questions see the warehouse at one moment: a server may still be busy with what a dead client sent. */
async function inOneMoment<T>({ pool }: Warehouse, ask: (rows: Rows) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const rows: Rows = async (query, parameters = []) => (await client.query(query, [...parameters])).rows;
    return await ask(rows);
  } finally {
    client.release(true);
  }
}
