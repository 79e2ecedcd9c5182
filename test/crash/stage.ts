import crypto from 'node:crypto';
import type { Oracle } from '../../src/simulator/tracker/oracle.ts';
import { startTracker, type TrackerOptions, type TrackerSimulator } from '../../src/simulator/tracker/server.ts';
import { asOwner, databaseUrl, emptyDatabase, type TestDatabase, testDatabase } from '../support/postgres.ts';
import { environment, tidemark } from '../support/tidemark.ts';

/** What a program is killed in the middle of: a tracker that stands still, a warehouse to start from, the words of the command. */
export interface Stage {
  readonly tracker: TrackerSimulator;
  readonly words: readonly string[];
  /** What the warehouse equals at first; undefined: it is empty. */
  readonly old: Oracle | undefined;
  /** What it shall equal in the end. */
  readonly truth: Oracle;
  /** The tracker's clock meanwhile: what watermarks become. */
  readonly clock: Date;
  /** A new database in the state to start from; its name. */
  fresh(): Promise<string>;
  close(): Promise<void>;
}

/** Everything is in it and nothing twice: boards with and without sprints, comments, worklogs, links, labels, history. */
export const smallest = {
  seed: 5,
  issues: 40,
  projects: 2,
  users: 6,
  years: 0.1,
  now: new Date('2026-03-10T09:00:00Z'),
} as const satisfies TrackerOptions;

/** The first sync into a warehouse whose schema is there. */
export const firstSync = (options: TrackerOptions): Promise<Stage> =>
  staged(options, { words: ['sync'], base: testDatabase });

/** The first sync into a database that has nothing, not even a schema. */
export const firstCommand = (options: TrackerOptions): Promise<Stage> =>
  staged(options, { words: ['sync'], base: emptyDatabase });

/** A sync after changes of every kind but deletion. */
export const laterSync = (options: TrackerOptions): Promise<Stage> =>
  staged(options, { words: ['sync'], base: testDatabase, earlier: ['sync'], meanwhile: changeMuch });

/** The same changes found by walking everything again, whatever was walked before. */
export const fullSync = (options: TrackerOptions): Promise<Stage> =>
  staged(options, { words: ['sync', '--full'], base: testDatabase, earlier: ['sync'], meanwhile: changeMuch });

/** A census after deletions. */
export const deletions = (options: TrackerOptions): Promise<Stage> =>
  staged(options, {
    words: ['census', 'tracker'],
    base: testDatabase,
    earlier: ['sync'],
    meanwhile: ({ state }) => {
      for (const id of idsOf(state).slice(3, 7)) state.delete(id);
    },
  });

/** Every stage by its name. */
export const stages = {
  'the first sync': firstSync,
  'a sync that finds changes': laterSync,
  'a census that finds deletions': deletions,
  'a full sync': fullSync,
  'the first command ever, migrations included': firstCommand,
} as const;

interface Plot {
  readonly words: readonly string[];
  readonly base: () => Promise<TestDatabase>;
  /** A command that runs to its end first. */
  readonly earlier?: readonly string[];
  /** What happens at the tracker then. */
  readonly meanwhile?: (tracker: TrackerSimulator) => void;
}

async function staged(options: TrackerOptions, plot: Plot): Promise<Stage> {
  const tracker = await startTracker(options);
  const base = await plot.base();
  let old: Oracle | undefined;
  if (plot.earlier !== undefined) {
    const program = tidemark(plot.earlier, environment(tracker, base.url));
    const code = await program.ended();
    if (code !== 0) throw new Error(`tidemark ${plot.earlier.join(' ')} ended with ${code}: ${program.said()}`);
    old = tracker.oracle();
    tracker.clock.advance(3_600_000);
    plot.meanwhile?.(tracker);
    tracker.clock.advance(60_000);
  }
  // A database that somebody is connected to cannot be copied.
  await base.warehouse.close();
  return {
    tracker,
    words: plot.words,
    old,
    truth: tracker.oracle(),
    clock: tracker.clock.now(),
    async fresh() {
      const name = `test_${crypto.randomBytes(6).toString('hex')}`;
      await copying(base.name, name);
      return name;
    },
    async close() {
      await tracker.close();
      await base.drop();
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

export const dropDatabase = (name: string): Promise<unknown> =>
  asOwner((client) => client.query(`drop database if exists ${name} with (force)`));

export { databaseUrl };

export const idsOf = (state: TrackerSimulator['state']): readonly string[] =>
  Array.from({ length: state.store.size }, (_, place) => state.store.at(place).id).filter((id) =>
    state.store.isLive(state.place(id)),
  );

/** Changes of every kind that bump `updated`, to a third of the issues. */
function changeMuch({ state, clock }: TrackerSimulator): void {
  const [a = '', b = '', c = '', d = '', e = '', f = '', ...rest] = idsOf(state);
  const keys = [...state.projects.values()].map((project) => project.key);
  const [sprint] = state.sprints.keys();
  state.update(a, { summary: 'Changed', statusId: '10004', resolutionId: '10300' });
  clock.advance(1_000);
  state.move(b, keys.find((key) => !state.keyOf(b).startsWith(`${key}-`)) ?? '');
  state.addLabel(c, 'new-label');
  state.addComment(c, 'A new comment');
  state.addWorklog(d, 1_800);
  state.link(d, e);
  if (sprint !== undefined) state.moveToSprint(f, sprint);
  for (const id of rest.slice(0, 6)) state.touch(id);
  clock.advance(1_000);
  for (const key of keys) state.create(key, { summary: `Born in ${key}`, labels: ['x', 'y'] });
  state.addUser({ displayName: 'Late Comer' });
  const [board] = [...state.boards.values()].filter((one) => one.type === 'scrum');
  if (board !== undefined) state.addSprint(board.id);
}
