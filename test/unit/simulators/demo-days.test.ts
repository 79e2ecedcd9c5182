import { expect, test } from 'vitest';
import { inhabit } from '../../../simulators/dagu/company.ts';
import { startWorkflow } from '../../../simulators/dagu/server.ts';
import { changeAds } from '../../../simulators/demo/ads-changes.ts';
import { changeWorkflow } from '../../../simulators/demo/workflow-changes.ts';
import { adDay } from '../../../simulators/spotify-ads/metrics.ts';
import { startAds } from '../../../simulators/spotify-ads/server.ts';

const day = 86_400_000;
/** The demo's default seed. */
const seed = 7;
const days = Array.from({ length: 120 }, (_, n) => new Date(Date.UTC(2026, 10, 20) + n * day));

test('on every day, the ad whose numbers the demo corrects had numbers', async () => {
  const silent: string[] = [];
  for (const now of days) {
    const platform = await startAds({ seed, now, days: 30 });
    const [{ values: [id = '', corrected = ''] = [] } = {}] = changeAds(platform);
    const ad = platform.state.ads.get(id);
    if (ad === undefined || adDay(platform.state, ad, Date.parse(corrected)) === undefined)
      silent.push(corrected);
    await platform.close();
  }
  expect(silent).toEqual([]);
});

test('on every day, a running job ends, a job fails, and a failed one succeeds on retry', async () => {
  const outcomes = new Set<string>();
  for (const now of days) {
    const engine = await startWorkflow({ now, dialect: 'dagu-v2' });
    const changes = changeWorkflow(engine, inhabit(engine, { seed }));
    const runs = [...engine.state.dags.values()].flatMap((dag) => dag.runs);
    outcomes.add(changes.map(({ values: [, id] }) => runs.find((run) => run.id === id)?.status).join(', '));
    await engine.close();
  }
  expect([...outcomes]).toEqual(['succeeded, failed, succeeded']);
});
