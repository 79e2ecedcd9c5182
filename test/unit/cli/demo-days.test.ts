import { expect, test } from 'vitest';
import { inhabit } from '../../../simulators/dagu/company.ts';
import { startWorkflow } from '../../../simulators/dagu/server.ts';
import { adDay } from '../../../simulators/spotify-ads/metrics.ts';
import { startAds } from '../../../simulators/spotify-ads/server.ts';
import { advertise } from '../../../src/cli/demo/ads-changes.ts';
import { orchestrate } from '../../../src/cli/demo/engine-changes.ts';

const day = 86_400_000;
/** The seed that the demo has unless another is asked for. */
const seed = 7;
const days = Array.from({ length: 120 }, (_, n) => new Date(Date.UTC(2026, 10, 20) + n * day));

test('on whatever day somebody looks at the demo, the ad whose numbers are corrected had some', async () => {
  const silent: string[] = [];
  for (const now of days) {
    const platform = await startAds({ seed, now, days: 30 });
    const [{ values: [id = '', corrected = ''] = [] } = {}] = advertise(platform);
    const ad = platform.state.ads.get(id);
    if (ad === undefined || adDay(platform.state, ad, Date.parse(corrected)) === undefined)
      silent.push(corrected);
    await platform.close();
  }
  expect(silent).toEqual([]);
});

test('on whatever day, a job is running that ends, one fails, and one that had failed is well again', async () => {
  const outcomes = new Set<string>();
  for (const now of days) {
    const engine = await startWorkflow({ now, dialect: 'dagu-v2' });
    const changes = orchestrate(engine, inhabit(engine, { seed }));
    const runs = [...engine.state.dags.values()].flatMap((dag) => dag.runs);
    outcomes.add(changes.map(({ values: [, id] }) => runs.find((run) => run.id === id)?.status).join(', '));
    await engine.close();
  }
  expect([...outcomes]).toEqual(['succeeded, failed, succeeded']);
});
