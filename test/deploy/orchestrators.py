"""Imports the examples for Airflow and Dagster as those do, and runs the asset of the tracker with the command of this machine."""

import importlib.util
import sys
from pathlib import Path

folder = Path(sys.argv[1])


def imported(name: str):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if sys.argv[2] == "airflow":
    dag = imported("tidemark_airflow").dag
    dag.validate()
    tasks = sorted(dag.task_ids)
    assert tasks == ["sync_ads", "sync_tracker", "sync_workflow"], tasks
    print(f"airflow: {dag.dag_id} with {len(tasks)} tasks")
else:
    import dagster as dg

    module = imported("tidemark_dagster")
    dg.Definitions.validate_loadable(module.defs)
    tracker = next(each for each in module.assets if each.key.path == ["tracker"])
    done = dg.materialize([tracker], raise_on_error=False)
    assert done.success, [event.event_specific_data for event in done.get_step_failure_events()]
    (event,) = done.get_asset_materialization_events()
    last = event.materialization.metadata["last event"].data
    assert last["report"]["status"] == "succeeded", last
    ads = next(each for each in module.assets if each.key.path == ["ads"])
    failed = dg.materialize([ads], raise_on_error=False)
    assert not failed.success, "ads is not configured here"
    print(f"dagster: tracker materialized, {len(module.assets)} assets")
