import type { NightPlan } from '../src/planner/night.ts';
import type { Lent } from './ads.ts';
import { measure, service } from './processes.ts';
import type { Figure } from './report.ts';

const pipelines = ['tracker', 'ads', 'workflow'];
/** The first nights teach the planner; its error counts from the next one on. */
const learning = 3;
/** The company has entities to archive for four days. */
const nights = 5;

/** (l): what `plan` says of the next night against the requests that the night sent, night after night in a simulated company. */
export async function measureEstimates({
  freshDatabase,
  say,
}: Pick<Lent, 'freshDatabase' | 'say'>): Promise<readonly Figure[]> {
  const company = await service<Readonly<Record<string, string>>>('bench/company.ts', []);
  const { url, warehouse } = await freshDatabase('bench_estimates');
  await warehouse.close();
  const tidemark = async (...words: readonly string[]) => {
    const cost = await measure(['src/tidemark.js', ...words, '--json'], {
      ...company.ready,
      DATABASE_URL: url,
    });
    if (cost.code !== 0)
      throw new Error(`${words.join(' ')} ended with ${cost.code}: ${cost.err}${cost.out}`);
    return cost.out.trim();
  };
  const worst = new Map(pipelines.map((pipeline) => [pipeline, 0]));
  try {
    for (let night = 1; night <= nights; night += 1) {
      const plan = night > learning ? (JSON.parse(await tidemark('plan')) as NightPlan) : undefined;
      for (const pipeline of pipelines) {
        // The last of its events.
        const last = (await tidemark('sync', pipeline)).split('\n').at(-1) ?? '{}';
        const { report } = JSON.parse(last) as { report: { requests: number } };
        const planned = plan?.pipelines.find((one) => one.pipeline === pipeline)?.requests;
        if (planned === undefined) continue;
        const error = Math.abs(planned - report.requests) / report.requests;
        say(
          `night ${night}, ${pipeline}: ${planned} planned, ${report.requests} sent, ${(error * 100).toFixed(0)} % off`,
        );
        worst.set(pipeline, Math.max(worst.get(pipeline) ?? 0, error));
      }
      if (night < nights) await company.ask('day');
    }
  } finally {
    await company.stop();
  }
  return pipelines.map((pipeline) => {
    const value = worst.get(pipeline) ?? Number.NaN;
    return {
      name: `(l) planned requests of ${pipeline} against those sent, worst of nights ${learning + 1} to ${nights}: error`,
      value,
      goal: 'at most 0.25',
      ok: value <= 0.25,
    };
  });
}
