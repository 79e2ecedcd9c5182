"""SQLAlchemy reflects every view of bi, pandas reads it: read.py URL CONTRACT."""
import json
import sys
import warnings

import pandas
import sqlalchemy

warnings.simplefilter("error")
url, contract = sys.argv[1:]
engine = sqlalchemy.create_engine(url.replace("postgres://", "postgresql+psycopg2://", 1))
with open(contract, encoding="utf-8") as file:
    views = [view for view in json.load(file)["views"] if "." not in view["name"]]
found = sqlalchemy.inspect(engine)
names = set(found.get_view_names("bi")) | set(found.get_table_names("bi"))
missing = [view["name"] for view in views if view["name"] not in names]
assert not missing, f"not reflected: {missing}"
rows = 0
for view in views:
    columns = found.get_columns(view["name"], schema="bi")
    assert [column["name"] for column in columns] == [column["name"] for column in view["columns"]], view["name"]
    unknown = [c["name"] for c in columns if isinstance(c["type"], sqlalchemy.types.NullType) or not c["comment"]]
    assert not unknown, f"bi.{view['name']}: without type or comment: {unknown}"
    table = sqlalchemy.Table(view["name"], sqlalchemy.MetaData(), schema="bi", autoload_with=engine)
    frame = pandas.read_sql(sqlalchemy.select(table), engine)
    assert not frame.duplicated(view["key"]).any(), f"bi.{view['name']}: {view['key']} is no key"
    rows += len(frame)
print(f"SQLAlchemy {sqlalchemy.__version__} and pandas {pandas.__version__}: {len(views)} views, {rows} rows")
