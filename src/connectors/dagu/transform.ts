/**
 * Records of the workflow engine to rows. A record is what src/connectors/dagu/normalize.ts makes of an answer: the fields that are known in
 * any dialect under one name, everything else under its own.
 */
import { BadData } from '../../core/errors.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import { Reading } from '../../core/record-reader.ts';
import {
  bool,
  integer,
  keyText,
  list,
  object,
  requiredKey,
  requireRecord,
  soundText,
  text,
} from '../../core/record-values.ts';
import { type RunState, standingOf } from '../../core/run-states.ts';
import type { Flow } from '../../core/stream.ts';
import { type Instant, parseAnyInstant } from '../../core/time.ts';
import type { DagRow, DagRunRow, DagRunStepRow } from './tables.ts';

const dagKeys = new Set([
  ...['name', 'fileName', 'group', 'description', 'schedule', 'params', 'tags', 'queue', 'maxActiveRuns'],
  ...['suspended', 'errors', 'latest'],
]);

export const dag: Flow['via'] = (record) => {
  const r = new Reading('workflow.dags', 'DAG', record);
  const found = requireRecord(r, record);
  const latest = object(r, found, 'latest');
  const standing = latest === null ? undefined : standingIn(r, latest, 'run', 'latest.');
  r.keepUnknown(found, dagKeys);
  const row: Omit<DagRow, '_extra'> = {
    name: requiredKey(r, found, 'name'),
    file_name: text(r, found, 'fileName'),
    group_name: text(r, found, 'group'),
    description: text(r, found, 'description'),
    schedule: whatever(r, found, 'schedule'),
    params: whatever(r, found, 'params'),
    tags: texts(r, found, 'tags'),
    queue: text(r, found, 'queue'),
    max_active_runs: integer(r, found, 'maxActiveRuns'),
    is_suspended: bool(r, found, 'suspended'),
    errors: whatever(r, found, 'errors'),
    status: standing?.status ?? null,
    state: standing?.state ?? null,
    latest_dag_run_id: latest === null ? null : text(r, latest, 'dagRunId', 'latest.dagRunId'),
  };
  return withNotes(r, { row: { ...row, _extra: r.extra() }, children: {} });
};

const runKeys = new Set([
  ...[
    'status',
    'label',
    'runId',
    'name',
    'scheduledAt',
    'queuedAt',
    'startedAt',
    'finishedAt',
    'trigger',
    'params',
  ],
  ...['labels', 'worker', 'rootName', 'rootId', 'parentName', 'parentId', 'autoRetries', 'log', 'error'],
]);

/** One execution with its steps. Steps that cannot be told by name stay with the run, in `_extra`. */
export const dagRun: Flow['via'] = (record) => {
  const r = new Reading('workflow.dag_runs', 'run', record);
  const found = requireRecord(r, record);
  const run = object(r, found, 'run') ?? {};
  const key = { dag_name: requiredKey(r, found, 'dag'), dag_run_id: requiredKey(r, found, 'id') };
  r.keepUnknown(run, runKeys);
  const row: Omit<DagRunRow, '_extra'> = {
    ...key,
    told_run_id: scalar(r, run, 'runId'),
    ...standingIn(r, run, 'run'),
    begun_at: moment(r, found, 'begun'),
    scheduled_at: moment(r, run, 'scheduledAt'),
    queued_at: moment(r, run, 'queuedAt'),
    started_at: moment(r, run, 'startedAt'),
    finished_at: moment(r, run, 'finishedAt'),
    gone_at: moment(r, found, 'gone'),
    trigger_type: scalar(r, run, 'trigger'),
    params: asText(r, run, 'params'),
    labels: whatever(r, run, 'labels'),
    worker_id: scalar(r, run, 'worker'),
    root_dag_name: text(r, run, 'rootName'),
    root_dag_run_id: scalar(r, run, 'rootId'),
    parent_dag_name: text(r, run, 'parentName'),
    parent_dag_run_id: scalar(r, run, 'parentId'),
    auto_retry_count: integer(r, run, 'autoRetries'),
    log_path: text(r, run, 'log'),
    error: asText(r, run, 'error'),
  };
  const steps = stepRows(r, key, found);
  return withNotes(r, {
    row: { ...row, _extra: r.extra() },
    children: steps === undefined ? {} : { steps },
    // How a step stands that is not among them, or not by its name, is not told: it stays as it was told last.
    ...((own(found, 'inPart') === true || hasNameless(found)) && { partial: ['steps'] }),
  });
};

const stepKeys = new Set([
  ...['name', 'kind', 'status', 'label', 'startedAt', 'finishedAt', 'retries', 'done', 'error', 'depends'],
  ...['subRuns', 'tails'],
]);

/** Undefined where the answer told no list of steps: then what is known of them stays. */
const stepRows = (
  r: Reading,
  key: { readonly dag_name: string; readonly dag_run_id: string },
  found: JsonObject,
): readonly DagRunStepRow[] | undefined => {
  if (own(found, 'steps') === undefined) return undefined;
  const seen = new Map<string, number>();
  return list(r, found, 'steps').flatMap((step, position) => {
    const at = r.row('steps', position);
    if (!hasName(step)) {
      r.keep(`steps[${position}]`, step);
      r.note('steps[]: a step without a name');
      return [];
    }
    const name = keyText(at, 'name', String(own(step, 'name')));
    const occurrence = seen.get(name) ?? 0;
    seen.set(name, occurrence + 1);
    at.keepUnknown(step, stepKeys);
    const log = object(at, step, 'tails') ?? {};
    const row: Omit<DagRunStepRow, '_extra'> = {
      ...key,
      step_name: name,
      occurrence,
      position,
      kind: text(at, step, 'kind') ?? 'step',
      ...standingIn(at, step, 'step'),
      started_at: moment(at, step, 'startedAt'),
      finished_at: moment(at, step, 'finishedAt'),
      retry_count: integer(at, step, 'retries'),
      done_count: integer(at, step, 'done'),
      error: asText(at, step, 'error'),
      depends: texts(at, step, 'depends'),
      sub_runs: whatever(at, step, 'subRuns'),
      stdout_tail: text(at, log, 'stdout'),
      stderr_tail: text(at, log, 'stderr'),
      log_problem: text(at, log, 'problem'),
    };
    return [{ ...row, _extra: at.extra() }];
  });
};

const hasName = (step: unknown): step is JsonObject =>
  isObject(step) && typeof own(step, 'name') === 'string' && own(step, 'name') !== '';

const hasNameless = (found: JsonObject): boolean => {
  const steps = own(found, 'steps');
  return Array.isArray(steps) && !steps.every(hasName);
};

interface Stood {
  readonly status: string | null;
  readonly status_code: number | bigint | null;
  readonly state: RunState;
}

/** `status` is a number or a word; `label` its word. A word that is not known is kept, its state is `unknown`. */
const standingIn = (r: Reading, holder: JsonObject, of: 'run' | 'step', before = ''): Stood => {
  const told = own(holder, 'status');
  const label = text(r, holder, 'label', `${before}label`);
  const code = typeof told === 'string' ? null : integer(r, holder, 'status', `${before}status`);
  const word = label ?? (typeof told === 'string' ? soundText(r, `${before}status`, told) : undefined);
  const { word: status, state } = standingOf(of, {
    label: word,
    code: typeof code === 'number' ? code : undefined,
  });
  if (state === 'unknown' && status !== null)
    r.note(`${before}status: a word that is not known: ${brief(status)}`);
  return { status: status ?? (code === null ? null : `status_${code}`), status_code: code, state };
};

const brief = (word: string): string =>
  /^[\w.-]{1,60}$/.test(word) ? word : JSON.stringify(word.slice(0, 60));

/**
 * An instant; engines write `""`, `-`, 0 and the year 1 for none (the vendor's 1.30.2, measured; Go's zero time). What is no instant is kept
 * with the reason: the contract does not say how instants are written, and a run is not lost for it.
 */
const moment = (r: Reading, holder: JsonObject, key: string): Instant | null => {
  const value = own(holder, key);
  if (value === undefined || value === null || value === '' || value === '-' || value === 0) return null;
  if (typeof value === 'string' && value.startsWith('0001-01-01T00:00:00')) return null;
  if (typeof value === 'string' || typeof value === 'number') {
    try {
      return parseAnyInstant(value);
    } catch (error) {
      if (!(error instanceof BadData)) throw error;
    }
  }
  return r.flip(key, value, 'an instant');
};

/** Text, or a number or truth as text: ids and counts come as either. */
const scalar = (r: Reading, holder: JsonObject, key: string): string | null => {
  const value = own(holder, key);
  const isOther = typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber;
  return isOther ? String(value) : filled(text(r, holder, key));
};

/** Text as it is; anything else as JSON text: parameters and errors come as text, lists or objects. */
const asText = (r: Reading, holder: JsonObject, key: string): string | null => {
  const value = own(holder, key);
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? filled(soundText(r, key, value)) : r.json(key, value);
};

const filled = (value: string | null): string | null => (value === '' ? null : value);

/** Whatever there is, as JSON text. */
const whatever = (r: Reading, holder: JsonObject, key: string): string | null => {
  const value = own(holder, key);
  return value === undefined || value === null ? null : r.json(key, value);
};

/** A list of texts, or one text; anything else is kept with the reason. */
const texts = (r: Reading, holder: JsonObject, key: string): readonly string[] => {
  const value = own(holder, key);
  if (typeof value === 'string') return value === '' ? [] : [soundText(r, key, value)];
  const found = list(r, holder, key);
  const good = found.filter((one) => typeof one === 'string');
  if (good.length < found.length) r.flip(key, found, 'a list of texts');
  return good.map((one) => soundText(r, key, one));
};

const withNotes = <M extends object>(r: Reading, mapped: M): M & { readonly notes?: readonly string[] } => {
  const notes = r.notes();
  return notes.length === 0 ? mapped : { ...mapped, notes };
};
