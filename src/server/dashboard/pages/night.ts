/** What is wrong with each pipeline and what helps, and last night in one sentence: on time, late or incomplete. */

import { count, duration, plural } from '../../../core/format.ts';
import { hours, minutes } from '../../../core/time.ts';
import { endsSoon } from '../../../core/token-end.ts';
import type { PipelineState } from '../../../queries/pipeline-states.ts';
import type { Dag, DagRun } from '../../../scheduler/control.ts';
import * as ui from '../components.ts';
import type { NightRuns } from '../figures.ts';
import { type Html, type HtmlPart, html } from '../html.ts';

/** A configured pipeline with what is known of it. */
interface Subject {
  readonly dag: Dag;
  /** Undefined: it never had a run. */
  readonly state: PipelineState | undefined;
  /** Oldest first, the last night at the end; empty where it did not run. */
  readonly nights: readonly NightRuns[];
}

/** What is wrong, and what helps. `again`: a new run helps, too. */
type PipelineProblem = readonly [tone: 'bad' | 'warn', what: HtmlPart, step: string, again?: 'again'];

/** A pipeline as it is judged: `good` only if its own last run, its check and its rejects are; `none` if it never ran. */
export interface Judged extends Subject {
  readonly tone: ui.Tone;
  readonly problems: readonly PipelineProblem[];
}

export function judge(subject: Subject, now: Date): Judged {
  // While it runs again, the runs before say nothing.
  const ofRuns = isGoing(subject) ? [] : runProblems(subject, now);
  const problems = [...ofRuns, ...otherProblems(subject, isGoing(subject) || ofRuns.length > 0, now)];
  const [worst] = problems.find(([tone]) => tone === 'bad') ?? problems[0] ?? [];
  const ran = subject.state?.runId ? 'good' : 'none';
  return { ...subject, problems, tone: isGoing(subject) ? 'going' : (worst ?? ran) };
}

/** Why a run that has not ended goes no further; undefined if it does. */
const haltOf = (run: DagRun): string | undefined => {
  if (run.status === 'stuck') return 'makes no progress';
  return run.status === 'lost' && !ui.isActive(run) ? 'has died' : undefined;
};

const isGoing = ({ dag: { last } }: Subject): boolean => last !== null && ui.isActive(last) && !haltOf(last);

/** Failures of a whole source: what the source does, and what helps. */
const faults: Readonly<Record<string, readonly [does: string, step: string]>> = {
  unreachable: ['does not answer', 'Check its address and the network.'],
  auth: ['does not accept the credentials', 'Make a new token and put it into the settings.'],
  rate_limited: ['limits the rate for too long', 'Wait, or ask its operator for a higher limit.'],
};

const faultOf = ({ state }: Subject) => faults[state?.errorCode ?? ''];

/** `Source ads does not answer since 03:12` */
const faultText = (subject: Subject, now: Date): Html =>
  html`Source ${subject.dag.name} ${faultOf(subject)?.[0]} since ${ui.clockAt(subject.state?.failingSince ?? now, now)}`;

/** `was stopped`, `failed`, `ended partly failed` */
const endOf = (last: DagRun | null, status: string): string =>
  last?.status === 'stopped' ? 'was stopped' : status === 'failed' ? status : `ended ${ui.spoken(status)}`;

const stepOfRun = 'Its page says why. A new run goes on where it ended.';

/** What its last runs left undone. */
function runProblems(subject: Subject, now: Date): readonly PipelineProblem[] {
  const { dag, state } = subject;
  const { name, last } = dag;
  const quoted = (text: string | null | undefined): HtmlPart => text && html`: <q>${text}</q>`;
  const bad = (what: Html, step: string): readonly PipelineProblem[] => [['bad', what, step, 'again']];
  const fault = faultOf(subject);
  const halt = last && haltOf(last);
  if (halt) return bad(html`${ui.link(ui.requestPath(last), 'A run')} of ${name} ${halt}.`, stepOfRun);
  if (last?.error && last.runs.length === 0)
    return bad(html`${name} could not begin${quoted(last.error.message)}`, 'Correct its settings.');
  if (fault) return bad(html`${faultText(subject, now)}${quoted(state?.errorMessage)}`, fault[1]);
  return (state?.undone ?? []).map(({ runId, what, status, message, streams }) => {
    const open = streams.length > 0 && `; not read to the end: ${some(streams)}`;
    const said = html`${ui.link(`/runs/${runId}`, `Run ${runId}`)} of ${name} ${what} ${endOf(last, status)}${quoted(message)}${open}.`;
    const isBad = what === '' && (status === 'failed' || status === 'lost');
    return [isBad ? 'bad' : 'warn', said, stepOfRun, 'again'];
  });
}

/** What else is wrong. `isUndone`: it runs, or its last runs failed, which says more than the age of its streams. */
function otherProblems(
  { dag: { name }, state }: Subject,
  isUndone: boolean,
  now: Date,
): readonly PipelineProblem[] {
  if (state === undefined) return [];
  const { openRejects, staleStreams, forbiddenStreams, tokenEndsAt } = state;
  const token = endsSoon(tokenEndsAt ?? undefined, now);
  const rejects = ui.link(ui.address('/rejects', { pipeline: name }), plural(openRejects, 'record'));
  const stale = `${name} is older than its target: ${some(staleStreams)}.`;
  const forbidden = `${name} may not read ${some(forbiddenStreams)}.`;
  const found: readonly (readonly [isSo: boolean, problem: PipelineProblem])[] = [
    [openRejects > 0, ['warn', html`${rejects} of ${name} could not become rows.`, 'Each says why.']],
    [staleStreams.length > 0 && !isUndone, ['warn', stale, 'A new run reads them.', 'again']],
    [forbiddenStreams.length > 0, ['warn', forbidden, 'Give its token the right.']],
    [token !== undefined, ['warn', `${name}: ${token}.`, 'Put the new one into the settings.']],
  ];
  return found.filter(([isSo]) => isSo).map(([, problem]) => problem);
}

/** The first three names, and how many more there are. */
const some = (names: readonly string[]): string =>
  `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;

/** Nights before the last one that are shown. */
export const nightsShown = 14;

/**
 * The first instant of the nights that are shown; each has 24 hours. The last night begins two hours before the first schedule that came due
 * within 24 hours: so neither a change of the clocks nor an early run moves anything into another night.
 */
export function firstNight(states: readonly PipelineState[], now: Date): Date {
  const due = states.flatMap(({ dueAt }) => (dueAt === null ? [] : [dueAt.getTime()]));
  const start = due.length > 0 ? Math.min(...due) - hours(2) : now.getTime() - hours(24);
  return new Date(start - nightsShown * hours(24));
}

/** Oldest first, the last night at the end; empty where nothing ran. */
export const byNight = (first: Date, days: NightRuns): readonly NightRuns[] =>
  Array.from({ length: nightsShown + 1 }, (_, at) =>
    days.filter(({ day }) => day.getTime() === first.getTime() + at * hours(24)),
  );

/** The sum of a number over what ran in a night. */
export const sumOf = (of: 'rows' | 'seconds' | 'inserted' | 'updated' | 'deleted') => (night: NightRuns) =>
  night.reduce((sum, each) => sum + each[of], 0);

/** So much later than in any former night is late, seconds. */
const lateSeconds = minutes(10) / 1000;

/** The first sentence, its tone, and what else matters. `start`: when the last night began; `rows`: how many changed since. */
export function verdict(all: readonly Judged[], start: Date, rows: number, now: Date) {
  const began = ({ state }: Judged): boolean => (state?.startedAt ?? 0) >= start;
  const due = all.filter((each) => began(each) || isGoing(each) || each.state?.dueAt);
  const done = due.filter((each) => began(each) && each.state?.status === 'succeeded');
  const going = due.filter((each) => isGoing(each) && !done.includes(each));
  const left = due.filter((each) => !done.includes(each) && !going.includes(each));
  const failed = all.filter(({ tone }) => tone === 'bad');
  const down = failed.filter(faultOf);
  const never = all.filter(({ tone }) => tone === 'none');
  const over = ({ state }: Judged): number => state?.overSeconds ?? 0;
  const [late] = [...going, ...done]
    .filter((each) => over(each) > lateSeconds)
    .sort((a, b) => over(b) - over(a));
  const undone = left.map((each) => {
    const { dag, state } = each;
    return `${dag.name} ${began(each) ? endOf(dag.last, state?.status ?? '') : 'has not begun'}`;
  });
  const total = `${count(done.length)} of ${plural(due.length, 'pipeline')}, ${plural(rows, 'row')}`;
  const [source] = down;
  const leads: readonly (readonly [lead: HtmlPart, tone: ui.Tone])[] = [
    [all.length === 0 && 'No pipeline is configured.', 'none'],
    [never.length === all.length && 'Nothing has been loaded yet.', 'none'],
    [down.length > 1 && `${count(down.length)} sources cannot be read: ${namesOf(down)}.`, 'bad'],
    [source && html`${faultText(source, now)}.`, 'bad'],
    [failed.length > 0 && `Last night is incomplete: ${namesOf(failed)} failed.`, 'bad'],
    [left.length > 0 && `Last night is incomplete: ${some(undone)}.`, 'warn'],
    [late && `Last night is late: ${late.dag.name}, ${duration(over(late))} after its usual end.`, 'warn'],
    [going.length > 0 && `The night is running: ${namesOf(going)}.`, 'going'],
    [due.length > 0 && `Last night was on time: ${total}.`, 'good'],
    ['No pipeline was due last night.', 'good'],
  ];
  const [lead, tone] = leads.find(([sentence]) => sentence) ?? ['', 'none' as const];
  const others = [
    never.length > 0 && `Never ran: ${namesOf(never)}.`,
    ...all.flatMap(({ problems }) => problems.map(([, what]) => what)),
  ];
  if (tone === 'none') return { lead, tone, rest: [] };
  if (tone !== 'good') return { lead, tone, rest: [`${total} so far.`, others[0]] };
  return { lead, tone: others.some(Boolean) ? ('warn' as const) : tone, rest: others.slice(0, 3) };
}

const namesOf = (all: readonly Judged[]): string => some(all.map(({ dag }) => dag.name));
