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


def files_of(words):
    """The lines and the queries that the command names; ends it where there are none."""
    if not words:
        print("usage:", __doc__.split(": ", 1)[1], file=sys.stderr)
        sys.exit(2)
    for word in words:
        if not pathlib.Path(word).is_file():
            print(f"{word}: no such file", file=sys.stderr)
            sys.exit(2)
    return words[0], words[1:] or sorted(HERE.glob("*.sql"))


if __name__ == "__main__":
    lines, queries = files_of(sys.argv[1:])
    connection = fleet(lines)
    for query in queries:
        if pathlib.Path(query).name != "table.sql":
            print(query)
            connection.sql(pathlib.Path(query).read_text()).show(max_width=100_000, max_col_width=100_000, max_rows=1_000_000)
