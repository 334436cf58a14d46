"""Answers the queries of this folder by Spark, on this machine: query_spark.py LINES.jsonl [QUERY.sql]..."""

import pathlib
import sys

from pyspark.sql import SparkSession

HERE = pathlib.Path(__file__).resolve().parent


def fleet(lines):
    """A session with the view `fleet`. Names are in double quotes, as in standard SQL."""
    session = (SparkSession.builder.master("local[2]").appName("fp32shim fleet").config("spark.ui.enabled", "false")
               .config("spark.sql.ansi.enabled", "true").config("spark.sql.ansi.doubleQuotedIdentifiers", "true")
               .config("spark.sql.shuffle.partitions", "4").getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    table = (HERE / "table.sql").read_text()
    path = str(lines).replace("\\", "\\\\").replace("'", "\\'")
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW fleet {table} USING json OPTIONS (path '{path}')")
    return session


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
    session = fleet(lines)
    for query in queries:
        if pathlib.Path(query).name != "table.sql":
            print(query)
            session.sql(pathlib.Path(query).read_text()).show(truncate=False)
