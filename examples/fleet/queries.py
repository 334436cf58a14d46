"""The code that query_duckdb.py and query_spark.py share: it reads the command line, and answers the queries one by one."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLE = (HERE / "table.sql").read_text()


def answer(description, connect, show):
    """Answers the queries that the command names, or all of this folder. Ends the program with 2 if a file is missing.

    `description`: text that ends with ": " and the usage. connect(lines) returns a connection with the table `fleet`;
    show(connection, query) prints an answer.
    """
    words = sys.argv[1:]
    if not words:
        print("usage:", description.split(": ", 1)[1], file=sys.stderr)
        sys.exit(2)
    for word in words:
        if not pathlib.Path(word).is_file():
            print(f"{word}: no such file", file=sys.stderr)
            sys.exit(2)
    connection = connect(words[0])
    for query in map(pathlib.Path, words[1:] or sorted(HERE.glob("*.sql"))):
        if query.name != "table.sql":
            print(query)
            show(connection, query.read_text())
