import { Fenced, Forbidden, Interrupted, Missing, passesAfter, saidBy } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { noCounts, type StreamReport } from '../core/run.ts';
import type { Stream } from '../core/stream.ts';
import type { Loaded } from '../load/load.ts';
import type { Session } from '../load/session.ts';
import { patiently } from '../warehouse/with-retry.ts';
import { forgetOpened } from './batching/closed-lists.ts';
import { endsRun, type Problem } from './context/problems.ts';
import { type RunContext, type Tally, tallyBatch, tell } from './context/run-context.ts';
import { enterStream } from './context/stream-in-run.ts';
import { fenced } from './state/lease-guard.ts';
import { countBatch, markStream, wasRead } from './state/run-state.ts';
import { abandonWalks } from './state/walk-state.ts';
import { isNews, stateBy } from './sync/confirm-missing.ts';
import type { Asked } from './sync/plan.ts';
import { type Times, walkAll } from './sync/sync-stream.ts';

/**
 * Brings one stream up to date: finishes the walk an earlier run left open, then makes its own. Gives the report; throws only what ends
 * the run (`endsRun`), after the stream's own row in `ops.run_streams` says so.
 */
export async function runStream(
  context: RunContext,
  flow: Stream,
  asked: Asked,
  times: Times,
): Promise<StreamReport> {
  const { deps, run } = context;
  const stream = flow.name;
  const here = await enterStream(context, flow);
  const { tally, report } = here;
  const end = async (done: StreamReport): Promise<StreamReport> => {
    const { superseded } = done.counts;
    // A late index heals itself. A clock that was set back, or a source that was restored, does not: nobody may believe the old rows silently.
    if (superseded > 0)
      tell(
        context,
        'warn',
        `${stream}: ${plural(superseded, 'record')} came otherwise than they are here, but dated before that: what is here was kept. ` +
          `Should the source have gone back in time, sync ${run.pipeline} --full takes it as it is`,
      );
    return here.end(done);
  };
  try {
    const walk = (): Promise<Problem | undefined> => walkAll(context, flow, asked, times, tally);
    const problems = await walk().catch(async (error: unknown) => {
      // One bad answer is none. Of days each walk asks many owners, and all of them before that is believed.
      const isNone = (error instanceof Missing || error instanceof Forbidden) && flow.days === undefined;
      if (!isNone || !(await isNews(deps.warehouse.db, run.sourceId, stream, error))) throw error;
      return walk();
    });
    await patiently(() => markStream(deps.warehouse.db, run.sourceId, stream, 'available', null));
    await patiently(() => forgetOpened(deps.warehouse.db, run.sourceId, flow));
    await afterwards(context, flow, times, tally, problems !== undefined);
    return await end(
      problems === undefined
        ? report('ok')
        : report(problems.status, problems.reason, problems.passesAfterMs),
    );
  } catch (error) {
    const message = saidBy(error);
    if (error instanceof Missing || error instanceof Forbidden) {
      if (isDoubtful(error, flow) && (await patiently(() => wasRead(deps.warehouse.db, run.sourceId, flow))))
        return end(
          report('failed', `${message}; but it was there before. ${afterReset(run.pipeline, stream)}`),
        );
      const state = stateBy(error);
      await patiently(() => markStream(deps.warehouse.db, run.sourceId, stream, state, message));
      // What was opened of what the source turned out not to have: there is nothing to go on with.
      if (flow.optional === true)
        await patiently(() =>
          abandonWalks(deps.warehouse.db, run.sourceId, stream, 'list', 'days', 'full from %'),
        );
      const filled = await fallBack(context, flow, times, tally);
      // An endpoint that the contract promises and that is not there is a failure; any other is a fact about the server.
      if (flow.optional !== true && filled === undefined) return end(report('failed', message));
      return end(report(state, filled === undefined ? message : `${message}; ${filled}`));
    }
    const status = error instanceof Interrupted || error instanceof Fenced ? 'interrupted' : 'failed';
    const failed = report(status, message, passesAfter(error));
    await end(failed).catch((second: unknown) => {
      // The warehouse itself may be what failed: the first error is the one to tell.
      tell(context, 'warn', `${stream}: its end could not be recorded: ${String(second)}`);
    });
    if (endsRun(error)) throw error;
    return failed;
  }
}

/** Days go by: those that an optional endpoint does not give for a while would be lost without a word. */
const isDoubtful = (error: Missing | Forbidden, stream: Stream): boolean =>
  error instanceof Missing && stream.optional === true && stream.days !== undefined;

const afterReset = (pipeline: string, stream: string): string =>
  `Should the server have given it up, it is unavailable after tidemark reset ${pipeline}.${stream}`;

/** What a flow does in the warehouse when its stream has been read, one transaction each. */
async function afterwards(
  context: RunContext,
  flow: Stream,
  times: Times,
  tally: Tally,
  isInPart: boolean,
): Promise<void> {
  const { run } = context;
  for (const { sql, after, evenInPart } of flow.afterwards ?? []) {
    if (isInPart && evenInPart !== true) continue;
    if (after !== undefined) await times.ready(after);
    const { warnings, loaded } = await fenced(context, async (session) => {
      const parameters = [run.sourceId, run.runId, (context.clock ?? new Date()).toISOString()];
      const { rows } = await session.client.query<Told>(sql, parameters);
      return {
        warnings: rows.flatMap(({ warning }) => (typeof warning === 'string' ? [warning] : [])),
        loaded: await countTold(context, session, flow, rows),
      };
    });
    tallyBatch(tally, loaded);
    for (const warning of warnings) tell(context, 'warn', `${flow.name}: ${warning}`);
  }
}

/** Rows from other tables where the server has no list of its own. */
async function fallBack(
  context: RunContext,
  flow: Stream,
  times: Times,
  tally: Tally,
): Promise<string | undefined> {
  const { fallback } = flow;
  if (fallback === undefined) return undefined;
  await times.ready(fallback.after);
  const { run } = context;
  const written = await fenced(context, async (session) => {
    const { rows } = await session.client.query<Told>(fallback.sql, [run.sourceId, run.runId]);
    return countTold(context, session, flow, rows);
  });
  tallyBatch(tally, written);
  return fallback.reason;
}

/** What a statement of ours says of what it did. */
interface Told {
  readonly warning?: unknown;
  readonly inserted?: string;
  readonly updated?: string;
  readonly deleted?: string;
}

/** Counts what a statement wrote for the stream, inside its transaction. */
async function countTold(
  context: RunContext,
  session: Session,
  flow: Stream,
  rows: readonly Told[],
): Promise<Loaded> {
  const sum = (of: 'inserted' | 'updated' | 'deleted'): number =>
    rows.reduce((all, row) => all + Number(row[of] ?? 0), 0);
  const inserted = sum('inserted');
  const updated = sum('updated');
  const deleted = sum('deleted');
  const loaded = {
    counts: { ...noCounts, received: inserted + updated, inserted, updated },
    deleted,
    braked: false,
  };
  if (inserted + updated + deleted > 0) await countBatch(session, context.run, flow.name, loaded);
  return loaded;
}
