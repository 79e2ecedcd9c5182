/** Streams as people name them, over all chosen pipelines. */

import { Misconfigured } from '../core/errors.ts';
import type { Settings } from './context.ts';
import { noStream } from './nearest.ts';
import { streamsOf } from './opening.ts';

/** A pipeline, and those of its streams that were named; `streams` is undefined where none was: then all are meant. */
export interface Chosen {
  readonly pipeline: string;
  readonly streams: readonly string[] | undefined;
}

/**
 * Those of the pipelines that own one of the named streams, each with its own. A name may also be written `tracker.issues`; a child's name means
 * its parent. Without names: all of every pipeline. Opens the sources to see their streams; asks nothing of them.
 * Throws Misconfigured, with the nearest name, where none of the pipelines owns a name.
 */
export async function owning(
  pipelines: readonly string[],
  names: readonly string[] | undefined,
  config: Settings,
  version: string,
): Promise<readonly Chosen[]> {
  if (names === undefined || names.length === 0)
    return pipelines.map((pipeline) => ({ pipeline, streams: undefined }));
  const known = await Promise.all(pipelines.map((pipeline) => knownOf(pipeline, config, version)));
  for (const name of names)
    if (!known.flat().some((stream) => stream.names.includes(name))) throw unknown(name, known.flat());
  return known.flatMap((streams, at) => {
    const own = streams.filter((stream) => names.some((name) => stream.names.includes(name)));
    return own.length === 0
      ? []
      : [{ pipeline: pipelines[at] ?? '', streams: own.map(({ stream }) => stream) }];
  });
}

interface Known {
  readonly stream: string;
  /** What it may be called: its own name and its children's, each also behind the pipeline's. */
  readonly names: readonly string[];
}

async function knownOf(pipeline: string, config: Settings, version: string): Promise<readonly Known[]> {
  return (await streamsOf(pipeline, config, version)).map(({ stream, children }) => ({
    stream,
    names: [stream, ...children].flatMap((name) => [name, `${pipeline}.${name}`]),
  }));
}

const unknown = (name: string, known: readonly Known[]): Misconfigured =>
  new Misconfigured(
    noStream(
      name,
      known.flatMap(({ names }) => names),
      known.map(({ stream }) => stream),
    ),
  );
