"""Small tables for the lessons: the same rows as HTML and as plain text."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from nvlearn.data import read_table
from nvlearn.i18n import language, words


class Table:
    """Rows under headings, shown as HTML (in the colours of the reader's theme) and as text."""

    def __init__(self, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Keep everything as text; a figure shows its own, marked where it is not settled."""
        self.lines = [[shown(cell) for cell in line] for line in (headings, *rows)]

    def __repr__(self) -> str:
        """Return the table in columns."""
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        padded = [map(str.ljust, line, widths) for line in self.lines]
        return "\n".join("  ".join(cells).rstrip() for cells in padded)

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str]) -> str:
            cell = f'<{tag} style="text-align: left">'  # JupyterLab's own style is on the cells
            return f"<tr>{''.join(f'{cell}{escape(text)}</{tag}>' for text in cells)}</tr>"

        rows = "".join(line("td", row) for row in self.lines[1:])
        return f"<table><thead>{line('th', self.lines[0])}</thead><tbody>{rows}</tbody></table>"


def shown(cell: Any) -> str:
    """Return what stands in a cell."""
    mark = "" if getattr(cell, "settled", True) else words("table.unsettled")
    return f"{getattr(cell, 'text', cell)}{mark}"


def table(records: Mapping[str, Any], name: str, **columns: str) -> Table:
    """Return a table of records: `name` heads their names, each column an attribute of theirs."""
    rows = [[key, *(getattr(record, column, "-") for column in columns)]
            for key, record in records.items()]
    return Table([name, *columns.values()], rows)


def glossary() -> Table:
    """Return the words of the course: what each means, its picture, and where that fails."""
    columns = ("term", "lesson", "means", "city", "fails")
    rows = read_table(f"glossary.{language()}")["term"]
    heads = [words(f"glossary.{column}") for column in columns]
    return Table(heads, [[row[column] for column in columns] for row in rows])
