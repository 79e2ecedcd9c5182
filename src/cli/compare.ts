/** `compare`: what a source finds by its own query beside what `bi` counts, and why the two differ. */
import { Misconfigured } from '../core/errors.ts';
import { count, plural } from '../core/format.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { type Difference, differences } from '../queries/comparison.ts';
import { withDeps } from '../runs/run.ts';
import type { Verb } from './context.ts';
import { exit } from './exit.ts';
import { print } from './output.ts';
import { openTalk } from './progress.ts';

/** Why the other side does not count a record, and what to do. */
const reasons = {
  rejected: 'it could not become rows: `tidemark rejects list`',
  new: 'it came or changed after the last sync: `tidemark sync`',
  changed: 'it changed after it was read: `tidemark sync`',
  missing: 'the warehouse does not have it, though its stream was read since: `tidemark sync --full`',
  leftOut: 'the settings of the pipeline leave it out: `tidemark config`',
  deleted: 'the warehouse has it as deleted: `tidemark reconcile` corrects that where it exists',
  hidden: 'it is stored, and hidden from bi: TIDEMARK_BI_RESTRICTED_ISSUES',
  gone: 'the source does not show it: deleted, or closed to the account; see `tidemark reconcile`',
  condition: 'both sides have the same version: the query and the condition ask for different things',
};

/** `limit`: how many records of a difference are named; of those that only `bi` has the source is asked one by one. */
type Question = { readonly jql: string; readonly where?: string; readonly limit: number };

/** Exit code 1 where the two sides differ. */
export const compare: Verb<Question & { pipeline: string }> = async (context, { pipeline, ...question }) => {
  const progress = await openTalk(context);
  const comparing = withDeps(context, pipeline, progress, (deps) => compared(deps, question));
  const { source, differing, rows } = await comparing.finally(progress.end);
  const onlyInBi = differing.filter(({ onlyIn }) => onlyIn === 'bi').length;
  const onlyInSource = differing.length - onlyInBi;
  const bi = source - onlyInSource + onlyInBi;
  const isEqual = differing.length === 0;
  const how = isEqual ? 'They are the same.' : `${plural(differing.length, 'record')} on one side only.`;
  const blocks = [
    `${pipeline}: the source finds ${count(source)}, bi counts ${count(bi)}. ${how}`,
    { rows, keys: 'onlyIn name reason' },
    rows.length < differing.length && `Only the first ${count(rows.length)} are named; more with --limit.`,
    question.where === undefined && 'Give --where to find also what bi counts and the source does not find.',
  ];
  const data = { pipeline, ...question, source, bi, onlyInSource, onlyInBi, differences: rows };
  return print(context, data, blocks, isEqual ? exit.ok : exit.failed);
};

/** How many records the source finds, and which of them, or others, one side alone counts. Changes nothing. */
async function compared({ source, warehouse, signal }: RunDeps, { jql, where, limit }: Question) {
  const { finder, streams, name: pipeline } = source;
  const stream = streams.find(({ name }) => name === finder?.stream);
  if (finder === undefined || stream === undefined)
    throw new Misconfigured(`the source of ${pipeline} cannot be asked by a query`);
  const found = await finder.find(jql, false, signal);
  const differing = await differences(warehouse, { pipeline, stream, view: finder.view }, found, where);
  const isAbsent = ({ why }: Difference) => why === 'new' || why === 'missing';
  const ours = differing.some(isAbsent) ? await finder.find(jql, true, signal) : found;
  const reasonOf = async (each: Difference): Promise<keyof typeof reasons> => {
    if (each.why !== null) return isAbsent(each) && !ours.has(each.id) ? 'leftOut' : each.why;
    const seen = await finder.look(each.id, signal);
    if (seen === undefined) return 'gone';
    return seen.changedAt?.getTime() === each.changedAt?.getTime() ? 'condition' : 'changed';
  };
  const rows = [];
  for (const each of differing.slice(0, limit)) {
    const why = await reasonOf(each);
    rows.push({ onlyIn: each.onlyIn, name: each.name, why, reason: reasons[why] });
  }
  return { source: found.size, differing, rows };
}
