/** Which pipelines and streams the words of a command line name. */
import { ads } from '../../pipelines/ads.ts';
import type { Job, Pipeline } from '../../pipelines/pipeline.ts';
import { tracker } from '../../pipelines/tracker.ts';
import { workflow } from '../../pipelines/workflow.ts';
import type { SourceSettings } from '../connectors/index.ts';
import { Misconfigured } from '../core/errors.ts';
import type { Db } from '../queries/db.ts';
import { type StreamState, streamStates } from '../queries/freshness.ts';
import type { Settings } from './context.ts';

/** In the order in which they run. */
export const pipelines: readonly Pipeline[] = [tracker, ads, workflow];

export const configured = (config: Settings): readonly Pipeline[] =>
  pipelines.filter((each) => config.sources[each.source] !== undefined);

export const jobsOf = (name: string): readonly Job[] =>
  pipelines.find((each) => each.name === name)?.jobs ?? [];

/** Not every source has a reconcile. */
export const hasReconcile = (name: string): boolean => jobsOf(name).some(({ does }) => does === 'reconcile');

/** Throws Misconfigured where the pipeline has no reconcile. */
export function checkReconcile(name: string): void {
  if (hasReconcile(name)) return;
  const others = pipelines.map((each) => each.name).filter(hasReconcile);
  throw new Misconfigured(`${name} has no reconcile; only ${others.join(', ')} has`);
}

/** The pipeline of that name, configured or not. Throws Misconfigured. */
export function knownPipeline(name: string): Pipeline {
  const found = pipelines.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw unknown(
    'pipeline',
    name,
    pipelines.map((each) => each.name),
  );
}

/** How a pipeline's source is read. Throws Misconfigured where it is not configured. */
export function settingsOf(config: Settings, pipeline: string): SourceSettings {
  const { source, needs } = knownPipeline(pipeline);
  const settings = config.sources[source];
  if (settings !== undefined) return settings;
  throw new Misconfigured(
    `pipeline ${pipeline} is not configured: set ${needs} and its credentials in the environment or in .env (see .env.example)`,
  );
}

/** The named pipelines, or every configured one. Throws Misconfigured if one is not configured, or none is. */
export function chosenPipelines(names: readonly string[], config: Settings): readonly string[] {
  for (const name of names) settingsOf(config, name);
  const chosen = names.length > 0 ? [...new Set(names)] : configured(config).map(({ name }) => name);
  if (chosen.length > 0) return chosen;
  throw new Misconfigured(
    'nothing is configured: set TRACKER_BASE_URL, TRACKER_EMAIL and TRACKER_API_TOKEN in the environment or in .env (see .env.example), or try `tidemark demo`',
  );
}

/** The streams of that name (also `tracker.issues`) that the warehouse knows, in all pipelines or one. Throws Misconfigured if there is none. */
export async function knownStreams(
  db: Db,
  name: string,
  pipeline?: string,
): Promise<readonly [StreamState, ...StreamState[]]> {
  const all = await streamStates(db);
  const fullName = (each: StreamState) => `${each.pipeline}.${each.stream}`;
  const [one, ...others] = all.filter(
    (each) =>
      (each.stream === name || fullName(each) === name) &&
      (pipeline === undefined || each.pipeline === pipeline),
  );
  if (one !== undefined) return [one, ...others];
  throw unknown('stream', name, [...all.map(({ stream }) => stream), ...all.map(fullName)]);
}

/** As `knownStreams`. Throws Misconfigured also if several pipelines have one of that name. */
export async function knownStream(db: Db, name: string, pipeline?: string): Promise<StreamState> {
  const [one, ...others] = await knownStreams(db, name, pipeline);
  if (others.length === 0) return one;
  const owners = [one, ...others].map((each) => each.pipeline);
  throw new Misconfigured(`several pipelines have a stream ${name}: write it as ${owners[0]}.${name}`);
}

/** An error that names the nearest of the names, and lists those without a dot. */
export function unknown(kind: string, word: string, names: readonly string[]): Misconfigured {
  const near = nearest(word, names);
  const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
  const listed = [...new Set(names)].filter((name) => !name.includes('.'));
  return new Misconfigured(`there is no ${kind} “${word}”${hint}; there are ${listed.join(', ')}`);
}

/** The name with the fewest edits, if at most a third of the word differs. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const edits = (name: string): number => {
    let row = Array.from({ length: name.length + 1 }, (_, at) => at);
    for (const letter of word) {
      const next = [(row[0] ?? 0) + 1];
      for (const [at, other] of [...name].entries())
        next.push(
          Math.min((row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1, (row[at] ?? 0) + (letter === other ? 0 : 1)),
        );
      row = next;
    }
    return row.at(-1) ?? 0;
  };
  const [best] = names.map((name) => ({ name, far: edits(name) })).sort((a, b) => a.far - b.far);
  return best !== undefined && best.far <= Math.max(1, word.length / 3) ? best.name : undefined;
}
