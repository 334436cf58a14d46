"""Answers the queries of this folder by DuckDB: query_duckdb.py LINES.jsonl [QUERY.sql]..."""

import pathlib
import sys

import duckdb

HERE = pathlib.Path(__file__).resolve().parent


def fleet(lines):
    """A connection with the table `fleet`."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE fleet " + (HERE / "table.sql").read_text())
    connection.execute(f"COPY fleet FROM '{lines}' (FORMAT json)")
    return connection


if __name__ == "__main__":
    connection = fleet(sys.argv[1])
    for query in sys.argv[2:] or sorted(HERE.glob("*.sql")):
        if pathlib.Path(query).name != "table.sql":
            print(query)
            connection.sql(pathlib.Path(query).read_text()).show(max_width=160)
