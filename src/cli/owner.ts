import { Misconfigured } from '../core/errors.ts';
import type { Db } from '../queries/db.ts';
import { type StreamState, streamStates } from '../queries/freshness.ts';
import { nearest } from './nearest.ts';

/** The stream of that name, also written `tracker.issues`. Throws Misconfigured if there is none, or several and no pipeline is named. */
export async function ownerOf(db: Db, name: string, pipeline?: string): Promise<StreamState> {
  const [one, ...others] = await ownersOf(db, name, pipeline);
  if (others.length > 0)
    throw new Misconfigured(
      `several pipelines have a stream ${name}: add --pipeline ${[one, ...others].map((each) => each.pipeline).join('|')}`,
    );
  return one;
}

/** The streams of that name in all pipelines, or in the named one. Throws Misconfigured, with the nearest name, if there is none. */
export async function ownersOf(
  db: Db,
  name: string,
  pipeline?: string,
): Promise<readonly [StreamState, ...StreamState[]]> {
  const all = await streamStates(db);
  const found = all.filter(
    (each) =>
      (each.stream === name || `${each.pipeline}.${each.stream}` === name) &&
      (pipeline === undefined || each.pipeline === pipeline),
  );
  const [one, ...others] = found;
  if (one === undefined) {
    const near = nearest(
      name,
      all.flatMap((each) => [each.stream, `${each.pipeline}.${each.stream}`]),
    );
    throw new Misconfigured(
      `there is no stream “${name}”${near === undefined ? '' : ` (did you mean ${near}?)`}; \`tidemark streams\` lists them`,
    );
  }
  return [one, ...others];
}
