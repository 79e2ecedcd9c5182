import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { loweredMaxResults } from '../../simulators/shared/faults.ts';
import { AccountsDoNotBalance, Interrupted, TidemarkError } from '../../src/core/errors.ts';
import type { RunReport } from '../../src/core/run.ts';
import { staleFacts } from '../support/facts.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { books, checkpoints, expectThat, same, watermarks } from './checks.ts';
import { faults } from './faults.ts';
import type { Event, RunKind, Step } from './steps.ts';
import { type World, worldOf } from './world.ts';

const minute = 60_000;
const lookbackMs = 120 * minute;
const begin = new Date('2026-03-10T09:00:00Z');
const site = {
  seed: 21,
  issues: 50,
  projects: 3,
  users: 8,
  years: 0.1,
  now: begin,
} as const satisfies TrackerOptions;

/** What happened while histories were played: a test whose faults never fired has proved nothing. */
export const seen = new Map<string, number>();
const saw = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);

/** Plays a history against a tracker and a warehouse of its own, checks what must hold after each step, and what must hold in the end. */
export async function play(steps: readonly Step[], dialect: 'vendor' | 'contract'): Promise<void> {
  const rig = await openRig({ ...site, dialect });
  try {
    const world = worldOf(rig.tracker);
    for (const [n, step] of steps.entries()) {
      if ('change' in step) world.change(step.change);
      else await checked(`step ${n + 1}`, rig, world, step);
      rig.tracker.clock.advance(7_000);
    }
    await quiet(rig, world);
    if (rig.tracker.errors.length > 0)
      throw new Error(`the simulator failed: ${String(rig.tracker.errors[0])}`);
  } finally {
    await rig.close();
  }
}

type RunStep = Extract<Step, { readonly run: RunKind }>;
const plain = (run: RunKind): RunStep => ({ run, page: 100, concurrency: 4, during: [] });
/** Everything generated was created before `begin`; the window holds about half of it. */
const window = { from: new Date('2026-02-01T00:00:00Z'), to: new Date('2026-02-20T00:00:00Z') };

/** Nothing happens to the tracker any more: at most two runs and a reconciliation make the warehouse equal to it, and another run changes nothing. */
async function quiet(rig: Rig, world: World): Promise<void> {
  world.calm();
  await checked('first quiet run', rig, world, plain('sync'));
  rig.tracker.clock.advance(minute);
  const last = await checked('second quiet run', rig, world, plain(world.silent.size > 0 ? 'full' : 'sync'));
  expectThat(last?.status === 'succeeded', `the second quiet run ${last?.status}: ${last?.error?.message}`);
  const reconcile = await checked('reconcile', rig, world, plain('reconcile'));
  expectThat(
    reconcile?.status === 'succeeded',
    `the reconciliation ${reconcile?.status}: ${reconcile?.error?.message}`,
  );
  same(
    'in the end',
    (await differences(rig)).filter((line) => !mayWait(rig, world, line)),
  );
  rig.tracker.clock.advance(8 * 24 * 60 * minute);
  await checked('a week later', rig, world, plain('sync'));
  same('a week later', await differences(rig));
  rig.tracker.clock.advance(minute);
  const idle = await checked('a run with nothing to do', rig, world, plain('sync'));
  const { inserted, updated } = idle?.counts ?? { inserted: -1, updated: -1 };
  expectThat(
    inserted === 0 && updated === 0 && idle?.deleted === 0,
    `a run with nothing to do wrote: ${JSON.stringify(idle?.counts)}, ${idle?.deleted} deleted`,
  );
}

/** Who joined or left a sprint that is completed may stay unknown for a week, and that it was deleted. */
function mayWait(rig: Rig, world: World, line: string): boolean {
  const [, gone] = /^sprint(?:s|_issues) (\d+)[:/]/.exec(line) ?? [];
  if (world.dropped.has(Number(gone))) return true;
  const [, sprint, issue] = /^sprint_issues (\d+)\/(\d+): /.exec(line) ?? [];
  return world.stirred.has(issue ?? '') && rig.tracker.state.sprints.get(Number(sprint))?.state === 'closed';
}

/** One run with what happens during it, and everything that must hold after any run, good or bad. */
async function checked(name: string, rig: Rig, world: World, step: RunStep): Promise<RunReport | undefined> {
  const before = await checkpoints(rig.rows);
  const started = rig.tracker.clock.now().getTime();
  const report = await run(rig, world, step);
  saw(`${step.run} ${report?.status ?? 'threw'}`);
  const [{ id = '0', stored = '' } = {}] = await rig.rows<{ id: string; stored: string }>(
    'select run_id::text as id, status as stored from ops.runs order by run_id desc limit 1',
  );
  expectThat(stored !== 'running', `${name}: its row still says that it is running`);
  await books(name, rig.rows, report);
  await watermarks(name, rig.rows, step.run, report, before);
  await nothingMissing(name, rig, world);
  const stale = await staleFacts(rig.rows);
  expectThat(stale.length === 0, `${name}: facts that a rebuild makes otherwise: ${stale.join('; ')}`);
  if (step.run === 'backfill') await onlyItsWindow(name, rig, id);
  if (step.run === 'reconcile') await onlyTheDeleted(name, rig, world, id, started);
  return report;
}

async function run(rig: Rig, world: World, step: RunStep): Promise<RunReport | undefined> {
  const { script, log, clock } = rig.tracker;
  const stop = new AbortController();
  script.clear();
  if (step.page < 100) script.at({ times: Number.POSITIVE_INFINITY }, loweredMaxResults(step.page));
  // Walks take their time.
  script.at({ times: Number.POSITIVE_INFINITY }, () => clock.advance(300));
  for (const event of step.during) plan(event);
  const how = {
    http: { concurrency: step.concurrency },
    signal: stop.signal,
    deps: { lookbackMs, concurrency: step.concurrency },
  };
  try {
    if (step.run === 'reconcile') return await rig.reconcile({}, how);
    if (step.run === 'backfill') return await rig.backfill(window, how);
    return await rig.sync({ full: step.run === 'full' }, how);
  } catch (error) {
    // A run may end badly, with a reason. It may not end by a defect.
    if (!(error instanceof TidemarkError) || error instanceof AccountsDoNotBalance) throw error;
    expectThat(
      step.during.length > 0,
      `nothing was done to it, and it threw ${error.name}: ${error.message}`,
    );
    return undefined;
  } finally {
    script.clear();
  }

  function plan(event: Event): void {
    const when =
      'at' in event
        ? (later: number) => log.length + event.at + later
        : (later: number) => ({ endpoint: '/rest/api/3/search/jql', nth: event.atSearch + later });
    if ('change' in event)
      script.at(when(0), () => {
        saw(event.change.is);
        world.change(event.change);
      });
    else if ('stop' in event)
      script.at(when(0), () => {
        saw('stop');
        stop.abort(new Interrupted('stopped by the model'));
      });
    else {
      const [fault, times] = faults[event.fault];
      for (let i = 0; i < times; i++) script.at(when(i), () => saw(event.fault), fault);
    }
  }
}

/**
 * Everything that the watermark claims is in the warehouse, whole: each issue in sight that was last written before it (guarantees G2, G4).
 * What the index showed late, or the clock dated early, is claimed that much later: the lookback makes up for it.
 */
async function nothingMissing(name: string, rig: Rig, world: World): Promise<void> {
  const mark = (await checkpoints(rig.rows)).find((one) => one.stream === 'issues')?.at;
  if (mark === undefined) return;
  const before = mark - world.slack();
  const truth = rig.tracker.oracle();
  const except = [...truth.issues.values()].filter(
    (issue) =>
      issue.deleted ||
      !issue.visible ||
      world.silent.has(issue.id) ||
      world.writtenAt(issue.id) >= before ||
      world.visibleSince(issue.projectId) >= before,
  );
  // A change of a project is no change of its issues.
  const lines = await differences(rig, { deletedMayLive: true, except: except.map((issue) => issue.id) });
  same(
    `${name}: the watermark ${new Date(mark).toISOString()} is ahead of the data`,
    lines.filter((line) =>
      /^(issues|issue_(labels|components|versions|links|changelog|keys)|comments|worklogs) /.test(line),
    ),
  );
}

/** A backfill touches nothing outside its window. */
async function onlyItsWindow(name: string, rig: Rig, runId: string): Promise<void> {
  const outside = await rig.rows<{ id: string }>(
    'select id::text from tracker.issues where _run_id = $1 and not (created_at >= $2 and created_at < $3)',
    [runId, window.from, window.to],
  );
  expectThat(
    outside.length === 0,
    `${name}: the backfill wrote ${outside.map((row) => row.id)} outside its window`,
  );
}

/** A reconciliation deletes only what is deleted, or was out of sight during the run (guarantee G10). */
async function onlyTheDeleted(
  name: string,
  rig: Rig,
  world: World,
  runId: string,
  started: number,
): Promise<void> {
  const deleted = await rig.rows<{ id: string }>(
    'select id::text from tracker.issues where _run_id = $1 and _deleted_at is not null',
    [runId],
  );
  const since = started - world.slack();
  const truth = rig.tracker.oracle();
  for (const { id } of deleted) {
    const issue = truth.issues.get(id);
    const isAlive =
      issue !== undefined &&
      !issue.deleted &&
      issue.visible &&
      world.visibleSince(issue.projectId) < since &&
      world.restoredAt(id) < since &&
      world.writtenAt(id) < since;
    expectThat(!isAlive, `${name}: the reconciliation deleted ${id}, which is there`);
    saw('tombstone');
  }
}
