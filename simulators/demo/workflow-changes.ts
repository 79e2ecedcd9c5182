/** What changes at the simulated workflow engine between two syncs, each with the SQL that shows whether it arrived. */
import type { Company } from '../dagu/company.ts';
import type { WorkflowSimulator } from '../dagu/server.ts';
import type { Change } from './facts.ts';

const day = 86_400_000;

/**
 * Moves the clock on by a day: the running job ends, one job fails, one that had failed is retried.
 * Equal companies get equal changes.
 */
export function changeWorkflow({ state, clock }: WorkflowSimulator, jobs: Company): readonly Change[] {
  const all = [...state.dags.values()].flatMap((dag) => dag.runs.map((run) => ({ dag, run })));
  const running = all.find(({ run }) => run.status === 'running');
  const [broken] = all
    .filter(({ run }) => run.status === 'failed')
    .sort((a, b) => b.run.madeAt.getTime() - a.run.madeAt.getTime());
  if (running === undefined || broken === undefined) throw new Error('no job is running, or none has failed');
  jobs.decide(running.run, 'well');
  state.retry(broken.dag.fileName, broken.run.id);
  jobs.decide(broken.run, 'well');
  const started = state.start('billing_export', {
    id: 'correction-1',
    params: 'REASON="a bill was missing"',
  });
  jobs.decide(started, { fails: 'upload_to_bank' });
  clock.advance(day);
  jobs.live();
  return [
    {
      what: `run ends: ${running.dag.name}`,
      found: `select status || ' after ' || to_char(finished_at - started_at, 'HH24:MI:SS') from workflow.dag_runs
        where dag_name = $1 and dag_run_id = $2 and state = 'succeeded' and finished_at is not null`,
      values: [running.dag.name, running.run.id],
    },
    {
      what: 'new run fails: billing_export',
      found: `select 'failed at ' || step_name || ': ' || error from workflow.dag_run_steps
        where dag_name = $1 and dag_run_id = $2 and state = 'failed'`,
      values: ['billing_export', started.id],
    },
    {
      what: `failed run is retried: ${broken.dag.name}`,
      found: `select r.status || ' after ' || max(s.retry_count) || ' retries' from workflow.dag_runs r
        join workflow.dag_run_steps s using (source_id, dag_name, dag_run_id)
        where r.dag_name = $1 and r.dag_run_id = $2 and r.state = 'succeeded' group by r.status having min(s.retry_count) > 0`,
      values: [broken.dag.name, broken.run.id],
    },
  ];
}
