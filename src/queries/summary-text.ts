/** The state of everything in words, failures first: the CLI and the dashboard say the same. */
import { clock, count, duration, plural, relative } from '../core/format.ts';
import type { Receipt, StreamReport } from '../core/run.ts';
import { endsSoon } from '../core/token-end.ts';
import type { Db } from './db.ts';
import { type IllPipeline, illPipelines, type StreamState, streamStates } from './freshness.ts';
import { judged, lastWhole, type RunLine, recentRuns } from './run-history.ts';

/** The state in two parts: what matters most, and the rest. */
export interface Summary {
  readonly tone: 'good' | 'warn' | 'going' | 'none';
  readonly lead: string;
  readonly rest: string;
}

/** What the state is told from. */
export interface SummaryInput {
  readonly streams: readonly StreamState[];
  /** What `recentRuns` gives. */
  readonly last: readonly RunLine[];
  /** Names of the pipelines that are configured, `nightly` apart. */
  readonly configured: readonly string[];
  readonly ill: readonly IllPipeline[];
}

/** Reads what `summary` needs, of all pipelines or of one. */
export async function known(db: Db, configured: readonly string[], pipeline?: string): Promise<SummaryInput> {
  const [streams, last, ill] = await Promise.all([
    streamStates(db),
    recentRuns(db),
    illPipelines(db, [...configured, 'nightly']),
  ]);
  const own = <T extends { readonly pipeline: string }>(all: readonly T[]) =>
    pipeline === undefined ? all : all.filter((each) => each.pipeline === pipeline);
  return { streams: own(streams), last: own(last), configured, ill: own(ill) };
}

/** The state in words. */
export function summary({ streams, last, configured, ill }: SummaryInput, now: Date): Summary {
  const [newest] = last;
  if (streams.length === 0 || newest === undefined)
    return { tone: 'none', lead: 'No data yet.', rest: 'Run the first sync: `tidemark sync`.' };
  const bad = inOrder(streams).filter(isInTrouble);
  const names = new Set([...streams, ...last].map(({ pipeline }) => pipeline));
  const never = configured.filter((name) => !names.has(name)).map((name) => `${name} has never run.`);
  const told = judged(last).filter(({ status }) => status !== 'succeeded');
  const failed = ill
    .filter(({ pipeline }) => !told.some((run) => run.pipeline === pipeline))
    .map(
      ({ pipeline, state, since }) =>
        `${pipeline} is marked as ${state.replaceAll('_', ' ')} since ${clock(since, now)} UTC.`,
    );
  const wrong = [...unhealthy(bad, told, now), ...failed, ...never, ...endingTokens(streams, now)];
  const facts = [...wrong, ...active(last, now)];
  const rest = [freshness(streams), lastRun(last, now)];
  const [lead = rest[0] ?? '', ...others] = facts;
  return {
    tone: wrong.length > 0 ? 'warn' : newest.status === 'running' ? 'going' : 'good',
    lead,
    rest: [...others, ...(facts.length === 0 ? rest.slice(1) : rest)].join(' '),
  };
}

/** What is wrong, of runs that did not succeed: sources that could not be read, then streams in trouble, then other runs that did not succeed. */
function unhealthy(bad: readonly StreamState[], ended: readonly RunLine[], now: Date): readonly string[] {
  const isDown = ({ error }: RunLine): boolean => error !== null && error.code in sourceFaults;
  const down = ended.filter(isDown).map(({ pipeline, error, startedAt }) => {
    const own = bad.filter((each) => each.pipeline === pipeline).length;
    const since = `${error?.message}, since ${clock(startedAt, now)} UTC`;
    const affected = own === 0 ? '' : ` ${plural(own, 'stream')} ${own === 1 ? 'needs' : 'need'} attention.`;
    return `${pipeline} ${sourceFaults[error?.code ?? '']} (${since}).${affected}`;
  });
  const others = bad.filter(({ pipeline }) => !ended.some((run) => isDown(run) && run.pipeline === pipeline));
  const named = others.slice(0, 3).map((each) => {
    const reason = each.reason === null ? '' : `: ${each.reason.replace(/\.$/, '')}`;
    return `${each.pipeline}.${each.stream} ${trouble(each, now)}${reason}.`;
  });
  const more = others.length > 3 ? [`${plural(others.length - 3, 'more stream')} need attention.`] : [];
  const failed = ended
    .filter((run) => !isDown(run))
    .map((run) => `Run ${run.runId} of ${run.pipeline} ended ${run.status.replaceAll('_', ' ')}.`);
  return [...down, ...named, ...more, ...failed];
}

/** Of each pipeline, that its token ends soon or has ended. */
function endingTokens(streams: readonly StreamState[], now: Date): readonly string[] {
  const ends = new Map(streams.map(({ pipeline, tokenEndsAt }) => [pipeline, tokenEndsAt]));
  return [...ends].flatMap(([pipeline, at]) => {
    const warning = endsSoon(at ?? undefined, now);
    return warning === undefined ? [] : `${pipeline}: ${warning}.`;
  });
}

/** Errors that say that a whole source could not be read. */
const sourceFaults: Readonly<Record<string, string>> = {
  unreachable: 'is not answering',
  auth: 'does not accept the credentials',
  rate_limited: 'limits the rate for too long',
};

/** A run that is active, and about how long it will take if the last complete one is a guide. */
function active([newest, ...older]: readonly RunLine[], now: Date): readonly string[] {
  if (newest?.status !== 'running') return [];
  if (newest.alive === false) return [`The process of run ${newest.runId} has died; the next run continues.`];
  const whole = lastWhole(older).find(({ pipeline }) => pipeline === newest.pipeline);
  const left = newest.kind === 'sync' && whole !== undefined ? whole.seconds - newest.seconds : 0;
  const remaining = left > 0 ? `, about ${duration(left)} left` : '';
  const since = relative(newest.startedAt, now).replace(' ago', '');
  return [
    `Run ${newest.runId} (${newest.pipeline} ${newest.kind}) has been running for ${since}${remaining}.`,
  ];
}

function lastRun(last: readonly RunLine[], now: Date): string {
  // A run of every stream says most of the state; where none has ended, any other.
  const ended = lastWhole(last)[0] ?? last.find((each) => each.finishedAt !== null);
  if (ended === undefined) return 'No run has ended yet.';
  const { settles, status, kind, startedAt, seconds, counts } = ended;
  const name = settles === 'freshness' ? 'run' : kind;
  const changed = plural(counts.inserted + counts.updated + counts.deleted, 'row');
  const how = status === 'succeeded' ? `changed ${changed}` : `ended ${status.replaceAll('_', ' ')}`;
  return `The last ${name} began at ${clock(startedAt, now)} UTC, took ${duration(seconds)} and ${how}.`;
}

/** What is wrong with a stream and since when, e.g. `is 5 h old`; undefined: nothing. */
function trouble({ freshness, freshAt, openRejects, last }: StreamState, now: Date): string | undefined {
  const since = freshAt === null ? 'was never loaded' : `is as of ${relative(freshAt, now)}`;
  if (freshness === 'never') return since;
  if (freshness === 'stale' && freshAt !== null)
    return `is ${duration((now.getTime() - freshAt.getTime()) / 1000)} old`;
  if (freshness === 'forbidden') return `is forbidden, and ${since}`;
  if (openRejects > 0) return `has ${plural(openRejects, 'record')} that could not become rows`;
  if (freshness !== 'fresh' || (last?.status !== 'failed' && last?.status !== 'partial')) return undefined;
  const how = last.status === 'failed' ? 'failed' : 'was partly read';
  return `${how}${last.finishedAt === null ? '' : ` ${relative(last.finishedAt, now)}`}`;
}

/** Whether a stream is stale, never loaded, forbidden, holds rejects, or was not read to its end by its last run. */
export const isInTrouble = (stream: StreamState): boolean => trouble(stream, new Date()) !== undefined;

/** Streams that are not to be fresh, in words. */
const asides = { unavailable: 'not available from the source', excluded: 'excluded' };

function freshness(streams: readonly StreamState[]): string {
  const own = streams.filter(({ freshness }) => !(freshness in asides));
  const aside = Object.entries(asides).map(([kind, what]) => {
    const number = streams.filter((each) => each.freshness === kind).length;
    return number === 0 ? '' : `, ${count(number)} ${what}`;
  });
  const bad = own.filter(isInTrouble).length;
  const all = plural(own.length, 'stream');
  if (own.length === 0) return `No stream to keep fresh${aside.join('')}.`;
  const good = bad === 0 ? `All ${all} fresh` : `${count(own.length - bad)} of ${all} fresh and complete`;
  return `${good}${aside.join('')}.`;
}

const order = ['stale', 'never', 'forbidden', 'fresh', 'unavailable', 'excluded'];

/** Those first that need attention. */
export const inOrder = (streams: readonly StreamState[]): readonly StreamState[] =>
  [...streams].sort(
    (a, b) =>
      Number(isInTrouble(b)) - Number(isInTrouble(a)) ||
      order.indexOf(a.freshness) - order.indexOf(b.freshness),
  );

/** `expected 5,000 · read 5,000 · stored 5,000`; `expected –` where the source states no total. */
export const receiptText = ({ expected, read, stored }: Receipt): string =>
  `expected ${expected === null ? '–' : count(expected)} · read ${count(read)} · stored ${count(stored)}`;

/** What does not match in a receipt, in words; undefined: everything matches. */
export function receiptProblem({ expected, read, stored }: Receipt): string | undefined {
  const text = (more: number, of: string): string =>
    `${plural(Math.abs(more), 'record')} ${more < 0 ? 'fewer' : 'more'} ${of}`;
  if (stored !== read) return text(stored - read, 'stored than read');
  if (expected === null || expected === read) return undefined;
  return text(read - expected, 'read than the source stated');
}

/** `5,000 records: 12 new, 3 changed, 4,985 already stored`; members that are absent count as 0. */
export function countsText(counts: Readonly<Record<string, unknown>>, what?: string): string {
  const of = (name: string): number => Number(counts[name] ?? 0);
  const parts = {
    new: of('inserted'),
    changed: of('updated'),
    'already stored': of('unchanged') + of('superseded'),
    duplicate: of('deduplicated'),
    rejected: of('rejected'),
    deleted: of('deleted'),
  };
  const present = Object.entries(parts).flatMap(([word, n]) => (n > 0 ? [`${count(n)} ${word}`] : []));
  return `${what ?? plural(of('received'), 'record')}${present.length > 0 ? ': ' : ''}${present.join(', ')}`;
}

type StreamResult = Pick<StreamReport, 'counts' | 'deleted'> & { readonly receipt: Pick<Receipt, 'read'> };

/** The same of a stream; a reconcile reads ids only: `5,000 ids: 1 deleted`. */
export function outcome({ counts, deleted, receipt: { read } }: StreamResult): string {
  const ids = counts.received === 0 && read > 0 ? plural(read, 'id') : undefined;
  return countsText({ ...counts, deleted }, ids);
}
