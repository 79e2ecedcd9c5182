"""The pipelines of Tidemark as assets of Dagster, and a schedule that materializes them each night.

The code location needs the command `tidemark` on its path, and its variables (docs/reference/variables.md).
"""

import json
import subprocess

import dagster as dg

PIPELINES = ["tracker", "ads", "workflow"]


def last_event(output: str) -> dict:
    """`sync --json` writes an event a line; the last one says how the run ended."""
    lines = output.strip().splitlines()
    return json.loads(lines[-1]) if lines else {}


def asset_of(pipeline: str) -> dg.AssetsDefinition:
    @dg.asset(
        name=pipeline,
        group_name="tidemark",
        retry_policy=dg.RetryPolicy(max_retries=2, delay=15 * 60),
    )
    def sync(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        command = ["tidemark", "sync", pipeline, "--json"]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        event = last_event(run.stdout)
        if run.returncode != 0:
            # 2 and 4: wrong configuration or credentials. Once more changes nothing.
            raise dg.Failure(
                f"tidemark ended with {run.returncode}",
                metadata={"last event": dg.MetadataValue.json(event)},
                allow_retries=run.returncode not in (2, 4),
            )
        return dg.MaterializeResult(metadata={"last event": dg.MetadataValue.json(event)})

    return sync


assets = [asset_of(pipeline) for pipeline in PIPELINES]
night = dg.define_asset_job("night", selection=dg.AssetSelection.groups("tidemark"))
defs = dg.Definitions(
    assets=assets,
    jobs=[night],
    schedules=[dg.ScheduleDefinition(job=night, cron_schedule="0 2 * * *", execution_timezone="UTC")],
)
