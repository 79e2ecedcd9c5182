"""Loads the issues of a Jira into Postgres with tap-jira and the target-postgres of Meltano, piped as Singer has it.

Usage: load_with_singer.py TAP TARGET changed|all. `changed` goes on from the state of the load before, `all` begins anew.
"""

import json
import os
import pathlib
import subprocess
import sys
from urllib.parse import urlsplit

tap, target, what = sys.argv[1:]
folder = pathlib.Path(os.environ["PEER_STATE"])
folder.mkdir(exist_ok=True)


def written(name, content):
    (folder / name).write_text(json.dumps(content))
    return str(folder / name)


database = urlsplit(os.environ["PEER_DATABASE"])
tap_config = written(
    "tap.json",
    {
        "start_date": "2000-01-01T00:00:00Z",
        "user_agent": "bench",
        "username": os.environ["PEER_EMAIL"],
        "password": os.environ["PEER_TOKEN"],
        "base_url": os.environ["PEER_BASE_URL"],
    },
)
target_config = written(
    "target.json",
    {
        "host": database.hostname,
        "port": database.port,
        "user": database.username,
        "password": database.password,
        "database": database.path.lstrip("/"),
        "default_target_schema": "jira",
        "load_method": "upsert",
        "use_copy": True,
    },
)
catalog = folder / "catalog.json"
if not catalog.exists():
    found = json.loads(subprocess.run([tap, "--config", tap_config, "--discover"], check=True, capture_output=True).stdout)
    for stream in found["streams"]:
        for entry in stream["metadata"]:
            if entry["breadcrumb"] == []:
                entry["metadata"]["selected"] = stream["tap_stream_id"] in ("issues", "changelogs")
    catalog.write_text(json.dumps(found))
state = folder / "state.json"
going_on = ["--state", str(state)] if what == "changed" and state.exists() else []
reading = subprocess.Popen([tap, "--config", tap_config, "--properties", str(catalog), *going_on], stdout=subprocess.PIPE)
loaded = subprocess.run([target, "--config", target_config], stdin=reading.stdout, stdout=subprocess.PIPE, check=True)
if reading.wait() != 0:
    sys.exit(reading.returncode)
state.write_bytes(loaded.stdout.splitlines()[-1])
