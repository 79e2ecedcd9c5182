import type { TrueRun } from '../../simulators/dagu/state.ts';
import type { Rig } from './rig.ts';

/** Runs with their steps as the warehouse has them, in the shape of the simulator's truth. `source`: only of this one, by its name. */
export const storedRuns = (rows: Rig['rows'], source?: string): Promise<readonly TrueRun[]> => {
  const iso = (column: string, name: string): string =>
    `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "${name}"`;
  return rows<TrueRun>(
    `select dag_name as dag, dag_run_id as id, status,
      ${iso('started_at', 'startedAt')}, ${iso('finished_at', 'finishedAt')}, params,
      coalesce((select json_agg(json_build_object('name', step_name, 'status', status, 'error', error) order by position)
        from workflow.dag_run_steps s
        where (s.source_id, s.dag_name, s.dag_run_id) = (r.source_id, r.dag_name, r.dag_run_id)), '[]') as steps
    from workflow.dag_runs r join ops.sources using (source_id) where $1::text is null or name = $1
    order by dag_name || dag_run_id collate "C"`,
    [source ?? null],
  );
};
