"""Loads the issues of a Jira into Postgres with dlt, as its documentation of the REST API source and of incremental loading advises.

Usage: load_with_dlt.py merge|replace. `merge` asks for what changed since the last load, `replace` loads everything again.
"""

import os
import sys
from datetime import datetime

import dlt
from dlt.sources.rest_api import rest_api_source


def epoch_milliseconds(updated: str) -> int:
    """JQL compares `updated` with epoch milliseconds, whatever the account's time zone."""
    return int(datetime.fromisoformat(updated).timestamp() * 1000)


disposition = sys.argv[1]
incremental = {
    "cursor_path": "fields.updated",
    "initial_value": "2000-01-01T00:00:00.000+0000",
    "convert": epoch_milliseconds,
}
since = "{incremental.start_value}" if disposition == "merge" else "946684800000"
source = rest_api_source(
    {
        "client": {
            "base_url": os.environ["PEER_BASE_URL"] + "/rest/api/3/",
            "auth": {
                "type": "http_basic",
                "username": os.environ["PEER_EMAIL"],
                "password": os.environ["PEER_TOKEN"],
            },
            "paginator": {
                "type": "cursor",
                "cursor_path": "nextPageToken",
                "cursor_param": "nextPageToken",
            },
        },
        "resources": [
            {
                "name": "issues",
                "primary_key": "id",
                "write_disposition": disposition,
                "endpoint": {
                    "path": "search/jql",
                    "data_selector": "issues",
                    "params": {
                        "jql": f"updated >= {since} order by updated asc",
                        "fields": "*navigable",
                        "expand": "changelog",
                        "maxResults": 100,
                    },
                    **({"incremental": incremental} if disposition == "merge" else {}),
                },
            }
        ],
    }
)
pipeline = dlt.pipeline(
    pipeline_name="jira",
    pipelines_dir=os.environ["PEER_STATE"],
    destination=dlt.destinations.postgres(os.environ["PEER_DATABASE"]),
    dataset_name="jira",
)
pipeline.run(source, loader_file_format="csv")
