import { lifeOf } from './flow.ts';
import type { Truths } from './truth.ts';
import { dateOf, percentile, type World, weekOf } from './world.ts';

const seconds = (of: string): string => `extract(epoch from ${of}.finished_at - ${of}.started_at)`;

export const operations: Truths = {
  'Which steps are slow?': `select dag_name, step_name, count(*), sum(${seconds('s')}) / 60,
      percentile_cont(0.95) within group (order by ${seconds('s')})
    from workflow.dag_run_steps s where kind = 'step' and started_at >= now() - interval '30 days' and _deleted_at is null
    group by 1, 2 order by 4 desc nulls last limit 10`,
  'Which jobs cannot be relied on?': `select dag_name, sum((state = 'succeeded')::int), sum((state = 'failed')::int),
      sum((state = 'succeeded')::int)::numeric / sum((state = any('{succeeded,failed,aborted}'))::int)
    from (
      select dag_name, state, started_at from workflow.dag_runs where _deleted_at is null
      union all
      select r.dag_name, t.state, t.started_at from workflow.dag_runs r,
        jsonb_to_recordset(r.earlier_tries) t (state text, started_at timestamptz)
    ) tries where started_at::date >= current_date - 28 group by 1`,
  'Which steps succeed only when they are tried again?': `select dag_name, step_name, count(*), sum((retry_count > 0)::int)
    from workflow.dag_run_steps where state = 'succeeded' and _deleted_at is null group by 1, 2 having max(retry_count) > 0`,
  // The last walk of each stream that was done began when it was fresh.
  'Is the data fresh?': `select s.name, count(*), 0, sum((t.state = 'unavailable')::int),
      min((select max(w.opened_at) from ops.walks w where w.source_id = t.source_id and w.stream = t.stream and w.status = 'done'))
    from ops.streams t join ops.sources s using (source_id) group by 1`,
  'What did the last runs do?': `select run_id, pipeline, kind, status, received, inserted, updated, unchanged, deleted
    from ops.runs order by run_id desc limit 10`,
  'Did a run read everything that the source has?': `select stream, expected, read, stored, rejected from ops.run_streams
    where run_id = (select max(run_id) from ops.runs where pipeline = 'tracker' and kind = 'sync')`,
  // As company.sql made them: the promise of 26 hours counts from the start of the last complete night.
  'Which nights were late?': `select 'tracker', current_date - n, status,
      to_char(current_date - n, 'YYYY-MM-DD') || ' 04:00:00+00', to_char(current_date - n, 'YYYY-MM-DD') || ended, failed
    from (values (5, 'failed', ' 02:05:00+00', 1), (4, 'missing', null, 0), (3, 'succeeded', ' 05:30:00+00', 0))
      nights (n, status, ended, failed)`,
  'How does the company deliver?': (world) => {
    const weeks = Array.from({ length: 13 }, (_, n) => weekOf(world.now - n * 7 * 86_400_000));
    const oldest = dateOf(world.now - 84 * 86_400_000);
    const deployments = world.runs.filter(({ dag }) => dag === 'deploy_shop');
    const done = world.issues
      .map(lifeOf)
      .flatMap(({ started, doneAt }) =>
        doneAt === undefined || started === undefined
          ? []
          : [{ at: doneAt, hours: (doneAt - started) / 3_600_000 }],
      );
    const restored = [...restoredBugs(world), ...restoredDeployments(world)];
    return weeks
      .filter((week) => week >= oldest)
      .map((week) => {
        const own = deployments.filter(({ started }) => weekOf(started) === week);
        const good = own.filter(({ state }) => state === 'succeeded').length;
        const bad = own.filter(({ state }) => state === 'failed').length;
        const median = (list: readonly { readonly at: number; readonly hours: number }[]) =>
          percentile(
            0.5,
            list.filter(({ at }) => weekOf(at) === week).map(({ hours }) => hours),
          );
        return [
          week,
          good,
          good + bad === 0 ? undefined : bad / (good + bad),
          median(done),
          median(restored),
        ];
      });
  },
  'What vanished at the sources?': `select s.name, d.table_name, d.record, d.day from ops.sources s join (
      select 'tracker', 'tracker.issues', key, _deleted_at::date from tracker.issues where _deleted_at is not null
      union all select 'ads', 'ads.audiences', name, _deleted_at::date from ads.audiences where _deleted_at is not null
    ) d (schema, table_name, record, day) on d.schema = s.name`,
  'Which issue belongs to which campaign?': `select i.key, s.name, c.name, a.currency_code, sum(r.spend)
    from ads.campaigns c join tracker.issues i on position('(' || i.key || ')' in c.name) > 0 join tracker.statuses s on s.id = i.status_id
    join ads.ad_accounts a on a.id = c.ad_account_id
    join ads.report_daily r on r.entity_type = 'CAMPAIGN' and r.entity_id = c.id group by 1, 2, 3, 4`,
};

interface Restored {
  readonly at: number;
  readonly hours: number;
}

const restoredBugs = (world: World): readonly Restored[] =>
  world.issues
    .filter(({ type }) => type === 'Bug')
    .map(lifeOf)
    .flatMap(({ issue, doneAt }) =>
      doneAt === undefined ? [] : [{ at: doneAt, hours: (doneAt - issue.created) / 3_600_000 }],
    );

/** From the first failure in a row to the next success. */
function restoredDeployments({ runs }: World): readonly Restored[] {
  const restored: Restored[] = [];
  let failedAt: number | undefined;
  for (const { dag, state, finished } of runs.toSorted((a, b) => a.finished - b.finished)) {
    if (dag !== 'deploy_shop') continue;
    if (state === 'failed') failedAt ??= finished;
    if (state !== 'succeeded' || failedAt === undefined) continue;
    restored.push({ at: finished, hours: (finished - failedAt) / 3_600_000 });
    failedAt = undefined;
  }
  return restored;
}
