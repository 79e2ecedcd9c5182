/** Which DAGs `serve` knows: every pipeline, and `nightly` over all of them. */

import { nightly } from '../../pipelines/nightly.ts';
import type { Job, Pipeline } from '../../pipelines/pipeline.ts';
import type { Catalogue, KnownDag, Timed } from '../scheduler/pipelines.ts';
import type { Settings } from './context.ts';
import { streamsOf } from './opening.ts';
import { configured, hasReconcile, pipelines } from './pipelines.ts';

/** Opens each configured source to see its streams; asks nothing of it. */
export async function catalogueOf(config: Settings, version: string): Promise<Catalogue> {
  const here = configured(config);
  const dags = await Promise.all(
    pipelines.map(
      async (pipeline): Promise<KnownDag> => ({
        name: pipeline.name,
        about: pipeline.about,
        configured: here.includes(pipeline),
        needs: pipeline.needs,
        timed: pipeline.jobs.map(timed),
        streams: here.includes(pipeline) ? await namesIn(pipeline, config, version) : [],
        hasReconcile: hasReconcile(pipeline.name),
        parts: [pipeline.name],
      }),
    ),
  );
  const all: KnownDag = {
    name: nightly.name,
    about: nightly.about,
    configured: here.length > 0,
    needs: pipelines.map(({ needs }) => needs).join(' or '),
    timed: nightly.jobs.map(timed),
    streams: [],
    hasReconcile: here.some(({ name }) => hasReconcile(name)),
    parts: here.map(({ name }) => name),
  };
  return { dags: [all, ...dags] };
}

/** What nightly does when it is due is shown with the times of nightly's own. */
const timed = ({ does, on, within }: Job): Timed => ({ does, ...on, starts: within === undefined });

async function namesIn({ name }: Pipeline, config: Settings, version: string): Promise<readonly string[]> {
  return (await streamsOf(name, config, version)).flatMap(({ stream, children }) => [stream, ...children]);
}
