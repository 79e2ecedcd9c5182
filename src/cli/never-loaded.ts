/** Streams that are asked for alone, and whose owners the warehouse does not know. */
import { nameOf } from '../core/table.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { streamStates } from '../queries/freshness.ts';

/**
 * One sentence for each of the named streams that is read owner by owner (sprints by their boards) while the owners' stream was never loaded and is
 * not read in the same run: nothing of it can be found then, which is not to say that there is nothing.
 */
export async function ownersNeverLoaded(
  { warehouse, source }: RunDeps,
  streams: readonly string[],
): Promise<readonly string[]> {
  const states = await streamStates(warehouse.db);
  const isLoaded = (stream: string): boolean =>
    states.some((each) => each.pipeline === source.name && each.stream === stream && each.freshAt !== null);
  return source.streams.flatMap((stream) => {
    if (!streams.includes(stream.name) || stream.partitions === undefined) return [];
    const { table } = stream.partitions;
    const owners = source.streams.filter((flow) => nameOf(flow.table) === table).map((flow) => flow.name);
    if (owners.length === 0 || owners.some((owner) => streams.includes(owner) || isLoaded(owner))) return [];
    return [
      `${stream.name} is read for each row of ${table}, which ${owners.join(', ')} was never loaded into: run \`tidemark sync ${source.name} --stream ${owners.join(',')},${stream.name}\``,
    ];
  });
}
