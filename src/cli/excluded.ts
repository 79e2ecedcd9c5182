/** Streams that are left out by configuration, as people name them. */
import { Misconfigured } from '../core/errors.ts';
import type { Source } from '../core/stream.ts';
import { excludedOf } from '../engine/context/select-streams.ts';
import { noStream } from './nearest.ts';

/** Throws Misconfigured for a name that is no stream of the source, and where nothing would be left to read. */
export function checkExcluded(
  { name: pipeline, streams }: Pick<Source, 'name' | 'streams'>,
  names: readonly string[],
): void {
  const variable = `${pipeline.toUpperCase()}_EXCLUDE`;
  const known = streams.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const parent = streams.find(({ children = {} }) => Object.hasOwn(children, name));
    if (parent !== undefined)
      throw new Misconfigured(
        `${variable}: ${name} comes with ${parent.name} and cannot be left out by itself`,
      );
    throw new Misconfigured(`${variable}: ${noStream(name, known, known)}`);
  }
  if (excludedOf({ source: { streams }, exclude: names }).size >= known.length)
    throw new Misconfigured(`${variable} leaves nothing of ${pipeline} to read`);
}
