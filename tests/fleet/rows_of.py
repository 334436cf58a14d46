"""rows_of.py ENGINE LINES: what DuckDB or Spark answers to each query of examples/fleet, as JSON."""

import importlib
import json
import pathlib
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/fleet"
sys.path.insert(0, str(EXAMPLES))
engine, lines = sys.argv[1:]
fleet = importlib.import_module(f"query_{engine}").fleet(lines)


def rows(text):
    if engine == "duckdb":
        answer = fleet.execute(text)
        return [dict(zip([column[0] for column in answer.description], row)) for row in answer.fetchall()]
    return [row.asDict() for row in fleet.sql(text).collect()]


queries = {path.stem: rows(path.read_text()) for path in EXAMPLES.glob("*.sql") if path.name != "table.sql"}
everything = {"lines": rows("SELECT event, count(*) AS lines, sum(calls) AS calls FROM fleet GROUP BY event ORDER BY event"),
              "columns": sorted(rows("SELECT * FROM fleet LIMIT 1")[0])}
print("\n" + json.dumps(queries | everything))
