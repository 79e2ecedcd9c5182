import type { Truths } from './truth.ts';

const seconds = (of: string): string => `extract(epoch from ${of}.finished_at - ${of}.started_at)`;

export const operations: Truths = {
  'Which steps are slow?': `select dag_name, step_name, count(*), sum(${seconds('s')}) / 60,
      percentile_cont(0.95) within group (order by ${seconds('s')})
    from workflow.dag_run_steps s where kind = 'step' and started_at >= now() - interval '30 days' and _deleted_at is null
    group by 1, 2 order by 4 desc nulls last limit 10`,
  'Which jobs cannot be relied on?': `select dag_name, sum((state = 'succeeded')::int), sum((state = 'failed')::int),
      sum((state = 'succeeded')::int)::numeric / sum((state = any('{succeeded,failed,aborted}'))::int)
    from workflow.dag_runs where started_at::date >= current_date - 28 and _deleted_at is null group by 1`,
  'Which steps succeed only when they are tried again?': `select dag_name, step_name, count(*), sum((retry_count > 0)::int)
    from workflow.dag_run_steps where state = 'succeeded' and _deleted_at is null group by 1, 2 having max(retry_count) > 0`,
  // The last walk of each stream that was done began when it was fresh.
  'Is the data fresh?': `select s.name, count(*), 0, sum((t.state = 'unavailable')::int),
      min((select max(w.opened_at) from ops.walks w where w.source_id = t.source_id and w.stream = t.stream and w.status = 'done'))
    from ops.streams t join ops.sources s using (source_id) group by 1`,
  'What did the last runs do?': `select run_id, pipeline, kind, status, received, inserted, updated, unchanged, deleted
    from ops.runs order by run_id desc limit 10`,
  'Did a run read everything that the source has?': `select stream, expected, fetched, landed, rejected from ops.run_streams
    where run_id = (select min(run_id) from ops.runs where pipeline = 'tracker')`,
};
