"""Parses each expression of the alerts and of the dashboard of operations: `queries.py examples/deploy`."""

import json
import sys
from pathlib import Path

import promql_parser
import yaml

folder = Path(sys.argv[1])
alerts = yaml.safe_load((folder / "prometheus/alerts.yml").read_text())
rules = [rule for group in alerts["groups"] for rule in group["rules"]]
for rule in rules:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule
    assert {"alert", "expr", "labels", "annotations"} <= set(rule), rule
    assert set(rule["annotations"]) == {"summary", "description"}, rule
names = [rule["alert"] for rule in rules]
assert len(names) == len(set(names)), names

board = json.loads((folder / "grafana/operations.json").read_text())
sources = yaml.safe_load((folder / "grafana/datasources.yml").read_text())["datasources"]
targets = [target for panel in board["panels"] for target in panel["targets"]]
assert {target["datasource"]["uid"] for target in targets} <= {source["uid"] for source in sources}

expressions = [rule["expr"] for rule in rules] + [target["expr"] for target in targets]
for expression in expressions:
    promql_parser.parse(expression)
try:
    promql_parser.parse("sum(")
except ValueError:
    pass
else:
    raise AssertionError("the parser takes everything")
print(f"{len(rules)} alerts and {len(targets)} queries of the dashboard are PromQL")
