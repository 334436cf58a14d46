"""Answers the queries of this folder by Spark, on this machine: query_spark.py LINES.jsonl [QUERY.sql]..."""

from pyspark.sql import SparkSession

import queries


def fleet(lines):
    """Returns a session with the view `fleet` of a file. Queries put names in double quotes, as standard SQL does."""
    session = (SparkSession.builder.master("local[2]").appName("fp32shim fleet").config("spark.ui.enabled", "false")
               .config("spark.sql.ansi.enabled", "true").config("spark.sql.ansi.doubleQuotedIdentifiers", "true")
               .config("spark.sql.shuffle.partitions", "4").getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    path = str(lines).replace("\\", "\\\\").replace("'", "\\'")
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW fleet {queries.TABLE} USING json OPTIONS (path '{path}')")
    return session


def show(connection, query):
    connection.sql(query).show(truncate=False)


if __name__ == "__main__":
    queries.answer(__doc__, fleet, show)
