/** What happens at the simulated company between two syncs, and the question to the warehouse that tells whether it arrived. */

import type { TrackerSimulator } from '../../../simulators/jira/server.ts';
import { Misconfigured } from '../../core/errors.ts';

/** One change at the source. `found` is SQL that answers one row with one text: what the warehouse says now; null while it has not heard. */
export interface Change {
  readonly what: string;
  readonly found: string;
  readonly values: readonly string[];
}

/** Fewer would not hold one of each. */
export const fewestIssues = 100;

/** Makes the changes, an hour of the source's clock after the first sync. The same company changes in the same way. */
export function happen({ state, clock }: TrackerSimulator): readonly Change[] {
  if (state.store.byKey.length < fewestIssues)
    throw new Misconfigured(`the demo needs at least ${fewestIssues} issues`);
  clock.advance(3_600_000);
  const done = '10004';
  const bug = '10103';
  const used = new Set<string>();
  const keys = state.store.byKey.map((place) => state.store.keyOf(place));
  /** Each time from another part of the company. */
  const chosen = (fits: (key: string) => boolean): string => {
    const start = Math.floor((keys.length * ((used.size * 5 + 2) % 13)) / 13);
    const found = [...keys.slice(start), ...keys.slice(0, start)].find((key) => !used.has(key) && fits(key));
    if (found === undefined) throw new Error('the company has no issue for this change');
    used.add(found);
    return found;
  };
  const [first = '', second = ''] = [...state.projects.values()].map((project) => project.key);

  const finished = chosen((key) => state.issue(key).statusId !== done);
  state.update(finished, { statusId: done, resolutionId: '10300', resolved: clock.now().getTime() });
  const born = state.create(second, {
    typeId: bug,
    summary: 'Gift cards cannot be combined with a discount',
  });
  const bornKey = state.keyOf(born.id);
  const moving = chosen((key) => key.startsWith(`${first}-`) && state.issue(key).oldKeys.length === 0);
  const moved = state.move(moving, second);
  const discussed = chosen(() => true);
  const comment = state.addComment(discussed, 'Seen again this morning, with the new release.');
  const labelled = chosen((key) => state.issue(key).labels.length > 0);
  const [label = ''] = state.issue(labelled).labels;
  state.removeLabel(labelled, label);
  const gone = chosen(() => true);
  const goneId = state.issue(gone).id;
  state.delete(gone);

  return [
    {
      what: `${finished} is done`,
      found: `select s.name || ', resolved ' || to_char(i.resolved_at, 'YYYY-MM-DD HH24:MI') from tracker.issues i
        join tracker.statuses s on s.source_id = i.source_id and s.id = i.status_id where i.key = $1 and s.category = 'done'`,
      values: [finished],
    },
    {
      what: `${bornKey} is created`,
      found: 'select summary from tracker.issues where key = $1 and id = $2::bigint',
      values: [bornKey, born.id],
    },
    {
      what: `${moving} moves to ${state.keyOf(moved.id)}`,
      found: `select 'now ' || i.key || ', and still found by ' || k.key from tracker.issues i
        join tracker.issue_keys k on k.source_id = i.source_id and k.issue_id = i.id
        where i.id = $1::bigint and i.key = $2 and k.key = $3`,
      values: [moved.id, state.keyOf(moved.id), moving],
    },
    {
      what: `${discussed} gets a comment`,
      found: 'select body from tracker.comments where id = $1::bigint and _deleted_at is null',
      values: [comment.id],
    },
    {
      what: `${labelled} loses the label ${label}`,
      found: `select coalesce('labels now: ' || string_agg(l.label, ', ' order by l.label), 'no label now') from tracker.issues i
        left join tracker.issue_labels l on l.source_id = i.source_id and l.issue_id = i.id
        where i.key = $1 having count(*) filter (where l.label = $2) = 0`,
      values: [labelled, label],
    },
    {
      what: `${gone} is deleted`,
      found: `select 'kept, marked deleted by run ' || (select max(run_id) from ops.runs where kind = 'reconcile')
        from tracker.issues where id = $1::bigint and _deleted_at is not null`,
      values: [goneId],
    },
  ];
}
