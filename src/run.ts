/** Runs a pipeline from a program, as the command line does. */
import process from 'node:process';
import type { PipelineDefinition } from './config/pipeline.ts';
import type { Connector } from './connectors/connector.ts';
import type { Observe, RunReport } from './core/run.ts';

/** What differs from `tidemark sync`. */
export interface RunOptions {
  /** Default `sync`: what changed. `full`: everything again; `reconcile`: all ids, for deletions. */
  readonly does?: 'sync' | 'full' | 'reconcile';
  /** A backfill of this window, half open, UTC. */
  readonly window?: { readonly from: Date; readonly to: Date };
  /** Only these streams. */
  readonly streams?: readonly string[];
  /** Default: the environment of the process, with the `.env` of `cwd`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where `.env`, `pipelines` and the embedded warehouse are. Default: the working directory. */
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** Gets what happens: notes, progress, the report. */
  readonly observe?: Observe;
}

/**
 * Runs a pipeline, by its name or as `pipeline({ … })` gives it, and sends notifications and the hand-off after it. Its report says how the run
 * ended. Throws what ended it before it was a run: Misconfigured, Unreachable, AuthFailed, LockHeld.
 */
export async function run(
  what: string | PipelineDefinition<Connector>,
  options: RunOptions = {},
): Promise<RunReport> {
  const { does = 'sync', window, streams, env = process.env, cwd = process.cwd() } = options;
  const { signal = new AbortController().signal, observe = () => undefined } = options;
  const [{ assemble, ownVersion }, config, runs, after] = await Promise.all([
    import('./runs/assemble.ts'),
    import('./config/config.ts'),
    import('./runs/run.ts'),
    import('./runs/after.ts'),
  ]);
  const load = async () =>
    typeof what === 'string'
      ? config.loadConfig<Connector>(env, cwd)
      : config.readConfig<Connector>(env, cwd, [{ file: 'pipeline', definition: what }]);
  const silent = () => undefined;
  const { parts, close } = assemble(load, signal, { talk: silent, say: silent, notice: silent });
  const context = { parts, signal, version: ownVersion() };
  try {
    const pipeline = typeof what === 'string' ? what : ((await parts.config()).pipelines[0]?.name ?? '');
    const ask = { pipeline, does: window ? ('backfill' as const) : does, ...(window && { window }) };
    const { report } = await runs.withDeps(context, pipeline, { observe, say: silent }, (deps) =>
      runs.execute({ ...ask, ...(streams && { streams }) }, deps),
    );
    const outbound = after.outboundOf(await parts.warehouse(), await parts.config());
    const warn = (message: string) => observe({ type: 'note', pipeline, level: 'warn', message });
    await after.notifyAfter(context, outbound, report, warn);
    return report;
  } finally {
    await close();
  }
}
