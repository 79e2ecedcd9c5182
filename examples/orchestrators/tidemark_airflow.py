"""A night of Tidemark as a DAG of Airflow 3: one task for each pipeline.

The workers need the command `tidemark` on their path, and its variables (docs/reference/variables.md): from their own environment, or `env` of the tasks.
Airflow ends a task with SIGTERM; Tidemark then keeps what it has, and the next run goes on.
"""

from datetime import datetime, timedelta, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

PIPELINES = ["tracker", "ads", "workflow"]

with DAG(
    dag_id="tidemark",
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    # A missed night needs no run of its own: the next one reads everything since the last.
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=15)},
) as dag:
    for pipeline in PIPELINES:
        BashOperator(
            task_id=f"sync_{pipeline}",
            bash_command=f"tidemark sync {pipeline} --quiet",
            append_env=True,
            # 5: another run of the pipeline is at work.
            skip_on_exit_code=5,
            # Longer than TIDEMARK_RUN_HOURS, after which a run ends by itself.
            execution_timeout=timedelta(hours=21),
        )
