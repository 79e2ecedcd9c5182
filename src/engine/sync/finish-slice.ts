/** A walk to its end: its slices in two rounds at most, and what becomes of those whose owners are gone. */

import { patiently } from '../../warehouse/with-retry.ts';
import type { StreamContext } from '../batching/stream-context.ts';
import { type Problem, where, worst } from '../context/problems.ts';
import { tell } from '../context/run-context.ts';
import { fenced } from '../state/lease-guard.ts';
import { wasRead } from '../state/run-state.ts';
import { hasAnswered, unreadSlices } from '../state/slice-state.ts';
import { closeIfLast } from '../state/walk-state.ts';
import { removeOwner } from './deleted-partition.ts';
import { type Gone, isClosed, isUnavailable } from './gone-partition.ts';
import { noteReadByLess } from './mapping-shrunk.ts';
import { ofShown, passBy, renewOwners } from './partitions.ts';
import { type Findings, readRound } from './slice-pass.ts';

/** Reads every slice of a walk that is not done, several at once. */
export async function finishWalk(
  stream: StreamContext,
  clock: Date | undefined,
): Promise<Problem | undefined> {
  const { context, walk, unread, tally } = stream;
  const { db } = context.deps.warehouse;
  await noteReadByLess(stream);
  if (walk.resumed) await patiently(() => renewOwners(stream));
  const slices = await patiently(() => unreadSlices(db, walk));
  if (slices.length === 0) {
    await closeWalk(stream);
    return undefined;
  }
  const before = tally.slices;
  const findings: Findings = {
    problems: [],
    gone: [],
    shut: [],
    doubtful: new Set(),
    refusals: new Map(),
    // What is left of a walk may be what is gone: that others have the list is known from the run before.
    answered: walk.resumed && (await patiently(() => hasAnswered(db, walk))),
    over: 0,
  };
  unread.count = slices.length;
  unread.waiting = slices.length;
  await readRound(stream, slices, findings, { again: false, clock });
  const { doubtful } = findings;
  if (doubtful.size > 0) {
    findings.gone = findings.gone.filter(({ open }) => !doubtful.has(open));
    findings.refusals.clear();
    unread.waiting += doubtful.size;
    await readRound(stream, [...doubtful], findings, { again: true, clock });
  }
  const read = tally.slices - before;
  await judgeGone(stream, findings);
  // An owner of whom nothing was due has not answered, but it has not refused either.
  if (read === 0) await judgeShut(stream, findings);
  const { problems, over } = findings;
  const passed = problems.every((problem) => problem.status === 'forbidden');
  // A slice that is the only one closes its walk itself; of several, two that end at once leave that to us, parts of one slice included.
  if ((read > 1 || problems.length > 0 || over > 0) && passed) await closeWalk(stream);
  return worst(problems);
}

/** Owners without the list: throws where that says that nobody has it; each of the others is passed by, or left for the next run. */
async function judgeGone(stream: StreamContext, { gone, answered }: Findings): Promise<void> {
  const { context, flow } = stream;
  if (gone.length === 0) return;
  const shown = await ofShown(stream, gone);
  const [first] = shown;
  if (first !== undefined && isUnavailable(flow, shown, answered, true)) throw first.error;
  // Of few owners it may be they who are gone; where none ever had it, night after night nothing would be read and nothing said.
  const { warehouse } = context.deps;
  if (
    first !== undefined &&
    flow.optional !== true &&
    !answered &&
    !(await patiently(() => wasRead(warehouse.db, context.run.sourceId, flow)))
  )
    throw first.error;
  for (const one of gone)
    await closeAbsent(stream, one, !shown.includes(one) && (await removeOwner(stream, one)));
}

/** Owners whose lists are closed to us: throws where that says that the list is. Each of the others is left for the next run. */
async function judgeShut(
  { context, flow }: StreamContext,
  { shut, answered, problems }: Findings,
): Promise<void> {
  const [first] = shut;
  if (first === undefined || shut.length < problems.length) return;
  const { db } = context.deps.warehouse;
  if (isClosed(flow, shut, answered, await patiently(() => wasRead(db, context.run.sourceId, flow))))
    throw first;
}

/** Closes the slice of an owner that is gone; unless it was removed, the rows stay until a reconciliation looks at the owner. */
async function closeAbsent(stream: StreamContext, { open, error }: Gone, isRemoved: boolean): Promise<void> {
  const { context, flow } = stream;
  await passBy(stream, open, error);
  await closeWalk(stream);
  if (isRemoved)
    tell(context, 'info', `${where(flow, open.slice)}: deleted at the source, which shows it no more`);
  else tell(context, 'warn', `${where(flow, open.slice)}: ${error.message}`);
}

/** Closes the walk if every slice of it is done; a walk without any slice (no owners) is. */
async function closeWalk(stream: StreamContext): Promise<void> {
  const { context, flow, walk } = stream;
  await fenced(context, async ({ trx }) => {
    await closeIfLast({ trx }, walk, {
      sourceId: context.run.sourceId,
      stream: flow.name,
      runId: context.run.runId,
      coverage: stream.coverage,
    });
  });
}
