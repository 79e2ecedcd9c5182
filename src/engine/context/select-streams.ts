/** Which of a source's streams a run reads. */

import { Misconfigured } from '../../core/errors.ts';
import type { Source, Stream } from '../../core/stream.ts';
import { nameOf } from '../../core/table.ts';
import type { RunDeps } from './deps.ts';

/** What a source has, and which of it is left out. */
type Choice = Pick<RunDeps, 'exclude'> & { readonly source: Pick<Source, 'streams'> };

/**
 * The flows of the named streams (a child's name means its parent's flow), in the source's order; without names all but those that are excluded.
 * Throws Misconfigured for a name that no stream has.
 */
export function chosenStreams(deps: Choice, names: readonly string[] | undefined): readonly Stream[] {
  const { streams: flows } = deps.source;
  if (names === undefined || names.length === 0) {
    const excluded = excludedOf(deps);
    return flows.filter(({ name }) => !excluded.has(name));
  }
  const owns = (flow: Stream, name: string): boolean =>
    flow.name === name || Object.hasOwn(flow.children ?? {}, name);
  const unknown = names.filter((name) => !flows.some((flow) => owns(flow, name)));
  if (unknown.length > 0)
    throw new Misconfigured(
      `no stream is called ${unknown.join(', ')}; there are ${flows.map((flow) => flow.name).join(', ')}`,
    );
  return flows.filter((flow) => names.some((name) => owns(flow, name)));
}

/** The streams that are excluded, and what is read owner by owner of one of them: who its owners are nobody would find out. */
export function excludedOf({ source: { streams: flows }, exclude }: Choice): ReadonlySet<string> {
  const excluded = new Set(exclude);
  const isOwned = (stream: Stream): boolean =>
    flows.some((owner) => excluded.has(owner.name) && nameOf(owner.table) === stream.partitions?.table);
  for (;;) {
    const more = flows.filter((flow) => !excluded.has(flow.name) && isOwned(flow));
    if (more.length === 0) return excluded;
    for (const { name } of more) excluded.add(name);
  }
}
