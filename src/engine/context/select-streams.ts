/** Which of a source's streams a run reads. */

import { Misconfigured } from '../../core/errors.ts';
import type { Source, Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import type { RunDeps } from './deps.ts';

/** What a source has, and which of it is left out. */
type Choice = Pick<RunDeps, 'exclude'> & { readonly source: Pick<Source, 'streams'> };

/**
 * The streams of the named streams (a child's name means its parent's stream), in the source's order; without
 * names all but those that are excluded. Throws Misconfigured for a name that no stream has.
 */
export function chosenStreams(deps: Choice, names: readonly string[] | undefined): readonly Stream[] {
  const { streams } = deps.source;
  if (names === undefined || names.length === 0) {
    const excluded = excludedOf(deps);
    return streams.filter(({ name }) => !excluded.has(name));
  }
  const owns = ({ name: own, children = {} }: Stream, name: string): boolean =>
    own === name || Object.hasOwn(children, name);
  const unknown = names.filter((name) => !streams.some((stream) => owns(stream, name)));
  if (unknown.length > 0)
    throw new Misconfigured(
      `no stream is called ${unknown.join(', ')}; there are ${streams.map((stream) => stream.name).join(', ')}`,
    );
  return streams.filter((stream) => names.some((name) => owns(stream, name)));
}

/**
 * The excluded streams, and those that are read by the owners of an excluded one: its owners would be
 * unknown.
 */
export function excludedOf({ source: { streams }, exclude }: Choice): ReadonlySet<string> {
  const excluded = new Set(exclude);
  // Owners come before what is read by them.
  for (const { name, partitions } of streams)
    if (streams.some((owner) => excluded.has(owner.name) && nameOf(owner.table) === partitions?.table))
      excluded.add(name);
  return excluded;
}
