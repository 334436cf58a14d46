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


if __name__ == "__main__":
    session = fleet(sys.argv[1])
    for query in sys.argv[2:] or sorted(HERE.glob("*.sql")):
        if pathlib.Path(query).name != "table.sql":
            print(query)
            session.sql(pathlib.Path(query).read_text()).show(truncate=False)
