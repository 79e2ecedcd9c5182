import crypto from 'node:crypto';
import { asOwner, type TestDatabase } from '../support/postgres.ts';
import { tidemark } from '../support/tidemark.ts';
import type { Rows } from './books.ts';

/** What a program is killed in the middle of: a source that stands still, a warehouse to start from, the words of the command, what must hold. */
export interface Stage {
  readonly words: readonly string[];
  /** The variables of a run into the database of this address. */
  environment(databaseUrl: string): NodeJS.ProcessEnv;
  /** A new database in the state to start from; its name. */
  fresh(): Promise<string>;
  /** One line for everything that does not hold at any instant, whatever was cut short. */
  atOnce(rows: Rows): Promise<readonly string[]>;
  /** One line for everything that does not hold after a run that nothing hurt. */
  inTheEnd(rows: Rows): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Runs a command to its end. Throws where it does not end well. */
export async function ran(words: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const program = tidemark(words, environment);
  const code = await program.ended();
  if (code !== 0) throw new Error(`tidemark ${words.join(' ')} ended with ${code}: ${program.said()}`);
}

/** Copies of a database as it is now. */
export async function copiesOf(base: TestDatabase): Promise<Pick<Stage, 'fresh'>> {
  // A database that somebody is connected to cannot be copied.
  await base.warehouse.close();
  return {
    async fresh() {
      const name = `test_${crypto.randomBytes(6).toString('hex')}`;
      await copying(base.name, name);
      return name;
    },
  };
}

/** One copy at a time: two cannot be made of one database at once. */
let turn: Promise<unknown> = Promise.resolve();
function copying(from: string, to: string): Promise<void> {
  const mine = turn.then(() =>
    asOwner(async (client) => {
      for (let attempt = 1; ; attempt++) {
        try {
          await client.query(`create database ${to} template ${from}`);
          return;
        } catch (error) {
          // A moment of autovacuum is a connection, too.
          if (attempt === 20) throw error;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    }),
  );
  turn = mine.catch(() => undefined);
  return mine;
}
