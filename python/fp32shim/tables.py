"""Tables of products and audits, as text and as HTML, from the JSON report of `fp32shim report`."""

from __future__ import annotations

import typing

_LEFT, _RIGHT = str.ljust, str.rjust


class Table(typing.NamedTuple):
    heading: str
    titles: tuple[str, ...]
    numbers: int  # number of leading columns whose cells are numbers
    cells: list[tuple[str, ...]]


def duration_text(nanoseconds: int) -> str:
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds} ns"


def printable_text(text: object) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def product_cells(row: dict[str, typing.Any]) -> tuple[str, ...]:
    """Returns the function, the size and the source location of a row, as a table shows them."""
    sizes = "x".join("?" if row[key] is None else str(row[key]) for key in "mnk")
    size = ("<=" if row.get("sizes_folded") else "") + sizes + (f" batch {row['batch']}" if row["batch"] not in (1, None) else "")
    places = [printable_text(place) for place in (row["scope"], row["where"]) if place]
    return printable_text(row["function"] or "?"), size, " ".join(places)


def format_of(row: dict[str, typing.Any]) -> str:
    return str(row["actual"] or row["applied"] or "unknown")


def decision_table(rows: list[dict[str, typing.Any]], top: int) -> Table:
    calls: dict[str, int] = {}
    for row in rows:
        calls[format_of(row)] = calls.get(format_of(row), 0) + row["calls"]
    total = sum(calls.values())
    heading = f"{total:,} product{'' if total == 1 else 's'} recorded"
    if rows:
        about = "about " if any(row["timed_calls"] < row["calls"] for row in rows) else ""
        shares = ", ".join(f"{count:,} at {name}" for name, count in sorted(calls.items(), key=lambda each: -each[1]))
        heading += f", {about}{duration_text(sum(row['host_ns'] for row in rows))} on the host; ran: {shares}"
    if len(rows) > top:
        heading += f". The {top} of {len(rows):,} rows that took longest:"
    cells = [(f"{row['calls']:,}", ("~" if row["timed_calls"] < row["calls"] else "") + duration_text(row["host_ns"]),
              *product_cells(row),
              f"{row['requested'] or '?'} ({row['source'] or '?'})", format_of(row), row["reason"] or "")
             for row in sorted(rows, key=lambda row: -row["host_ns"])[:top]]
    return Table(heading, ("calls", "host time", "function", "size", "where", "asked for", "ran at", "reason"), 2, cells)


def audit_table(audits: list[dict[str, typing.Any]], top: int) -> Table:
    def worst_error(audit: dict[str, typing.Any]) -> float:
        error = audit["row"]["worst"]  # JSON has null for an infinite error
        return float("inf") if error is None else float(error)

    audited = [audit for audit in audits if audit["audits"] > 0]
    count = sum(audit["audits"] for audit in audited)
    heading = f"{count:,} audit{'' if count == 1 else 's'}"
    if len(audited) > top:
        heading += f". The {top} of {len(audited):,} rows with the largest error:"
    cells = [(f"{audit['audits']:,}", f"{worst_error(audit):.2g}", f"{audit['beyond']:,}", *product_cells(audit),
              f"{audit['tested']} with {audit['reference']}")
             for audit in sorted(audited, key=worst_error, reverse=True)[:top]]
    return Table(heading, ("audits", "largest error of a row", "beyond tolerance", "function", "size", "where", "compared"), 3, cells)


def tables_of_report(report: dict[str, typing.Any], top: int) -> list[Table]:
    return [decision_table(report["rows"], top), *([audit_table(report["audits"], top)] if report["audits"] else [])]


def text_of_tables(tables: list[Table]) -> str:
    lines = []
    for table in tables:
        lines.append(table.heading)
        texts = [table.titles, *table.cells] if table.cells else []
        widths = [max(map(len, column)) for column in zip(*texts)]
        for line in texts:
            cells = [(_RIGHT if number < table.numbers else _LEFT)(cell, widths[number]) for number, cell in enumerate(line)]
            lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_of_tables(tables: list[Table]) -> str:
    import html

    def html_row(tag: str, numbers: int, texts: tuple[str, ...]) -> str:
        cells = (f'<{tag} style="text-align:{"right" if number < numbers else "left"}">{html.escape(text)}</{tag}>'
                 for number, text in enumerate(texts))
        return f"<tr>{''.join(cells)}</tr>"

    parts = []
    for table in tables:
        parts.append(f"<div>{html.escape(table.heading)}</div>")
        if table.cells:
            parts += ["<table><thead>", html_row("th", table.numbers, table.titles), "</thead><tbody>",
                      *(html_row("td", table.numbers, cells) for cells in table.cells), "</tbody></table>"]
    return "".join(parts)
