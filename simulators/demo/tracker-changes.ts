/** What changes in the simulated Jira between two syncs, each with the SQL that shows whether it arrived. */
import { Misconfigured } from '../../src/core/errors.ts';
import type { TrackerSimulator } from '../jira/server.ts';
import type { Change } from './facts.ts';

/** With fewer issues, one of the changes may find no issue that fits it. */
export const fewestIssues = 100;

/** Moves the clock on by an hour and makes the changes. Equal companies get equal changes. Throws Misconfigured. */
export function changeTracker({ state, clock }: TrackerSimulator): readonly Change[] {
  if (state.store.byKey.length < fewestIssues)
    throw new Misconfigured(
      `the demo needs at least ${fewestIssues} issues, not ${state.store.byKey.length}`,
    );
  clock.advance(3_600_000);
  const done = '10004';
  const bug = '10103';
  const used = new Set<string>();
  const keys = state.store.byKey.map((position) => state.store.keyOf(position));
  /** An issue that fits and has no change yet; each search starts elsewhere in the company. */
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
      found: `select 'now ' || i.key || ', still found by ' || k.key from tracker.issues i
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
