import { startWorkflow } from '../../simulators/dagu/server.ts';
import type { WorkflowState } from '../../simulators/dagu/state.ts';
import { storedRuns } from '../support/workflow-runs.ts';
import type { Draw } from './seed.ts';
import { misbehave, type Place, type Site, wireTo } from './site.ts';

const dags = ['load', 'send', 'train'] as const;

/** So many runs make a sync as long as it may be: all of the last three days are read in detail. */
const mostRuns = 60;

export async function workflowSite({ name, seed, bad }: Place): Promise<Site> {
  const engine = await startWorkflow({
    dialect: seed % 2 === 0 ? 'dagu-2.x' : 'dagu-v2',
    now: new Date('2026-03-01T12:00:00Z'),
    latencyMs: bad ? 40 : 2,
  });
  const { state, clock } = engine;
  for (const dag of dags) state.start(state.add(dag).fileName);
  if (bad) misbehave(engine, bad.draw, ['short page']);
  const way = bad ? await wireTo(engine.url) : { wire: undefined, url: engine.url };
  return {
    name,
    connector: 'dagu',
    exclude: [],
    variables: { BASE_URL: way.url, CONCURRENCY: '2' },
    asks: [undefined, undefined, undefined, 'DOES=full'],
    script: engine.script,
    errors: engine.errors,
    wire: way.wire,
    change(draw) {
      clock.advance(1_000);
      change(state, draw);
    },
    calm: () => undefined,
    async equal(rows) {
      const stored = new Set((await storedRuns(rows, name)).map((run) => JSON.stringify(run)));
      const truth = new Set(engine.truth().map((run) => JSON.stringify(run)));
      return [
        ...[...truth].filter((run) => !stored.has(run)).map((run) => `${run}: missing`),
        ...[...stored].filter((run) => !truth.has(run)).map((run) => `${run}: should not be there`),
      ];
    },
    async close() {
      await way.wire?.close();
      await engine.close();
    },
  };
}

/** The newest run of a DAG ends, or the next one starts; now and then one is retried. */
function change(state: WorkflowState, draw: Draw): void {
  const dag = draw.oneOf(dags);
  const { runs } = state.dag(dag);
  const newest = runs.at(-1);
  if (newest === undefined) throw new Error(`${dag} has no run`);
  if (newest.finishedAt === undefined)
    state.finish(dag, newest.id, draw.oneOf(['succeeded', 'succeeded', 'failed', 'aborted']));
  else if (runs.length >= mostRuns / dags.length || draw.chance(0.3)) state.retry(dag, newest.id);
  else state.start(dag, { queued: draw.chance(0.3), params: `N=${runs.length}` });
}
