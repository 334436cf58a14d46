"""Answers the queries of this folder by DuckDB: query_duckdb.py LINES.jsonl [QUERY.sql]..."""

import duckdb

import queries


def fleet(lines):
    """Returns a connection with the table `fleet`, which has the content of the file `lines`."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE fleet " + queries.TABLE)
    path = str(lines).replace("'", "''")
    connection.execute(f"COPY fleet FROM '{path}' (FORMAT json)")
    return connection


def show(connection, query):
    connection.sql(query).show(max_width=100_000, max_col_width=100_000, max_rows=1_000_000)


if __name__ == "__main__":
    queries.answer(__doc__, fleet, show)
