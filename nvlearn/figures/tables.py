"""Tables: rows as HTML and as plain text, and a number for each pair of GPUs as colours."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.data import read_table
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture
from nvlearn.formulas.checks import require
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


# --- a number for each pair of GPUs as colours -----------------------------------


WIDTH, HEIGHT, LEFT, TOP, SIDE, ASIDE = 960.0, 600.0, 84.0, 108.0, 464.0, 600.0
MOST_NAMES, MOST_STEPS, BLACK, MISSING = 16, 15, "#000000", -1.0
#: Red, green and blue from the least to the most, and the share from which on white ink reads
#: better than black; the lightness falls all the way, so hue is never needed.
SHADES, DARK = ((234, 63, 0), (246, 168, 64), (241, 133, 46)), 0.68


def matrix(values: ArrayLike, kind: str) -> Picture:
    """Draw an N x N table of "links" or "hops", the same for both directions of a pair.

    A value below 0 means that there is none; the diagonal stays empty.
    """
    table = np.array(values, dtype=float)
    square = table.ndim == 2 and len(table) == table.shape[1] > 0
    require(square and np.isfinite(table).all(), "A matrix of pairs is square, of one GPU or "
            f"more, and has no infinite values; this one has the shape {table.shape}")
    np.fill_diagonal(table, MISSING)
    told, sheet = finding(table, kind), Drawing(WIDTH, HEIGHT)
    paints = {MISSING: (style.RULE, style.INK)}
    found = np.unique(table[table >= 0]).tolist()
    paints |= zip(found, map(colours, np.linspace(0, 1, len(found))), strict=True)
    sheet.heading(told, words(f"matrix.reading.{kind}"))
    size = SIDE // len(table) or SIDE / len(table)  # whole pixels while they are enough
    margins(sheet, len(table), size)
    sheet.layer()
    for value, paint in paints.items():
        cells(sheet, np.argwhere(table == value).tolist(), size, len(table) <= MOST_NAMES,
              label(value, kind), *paint)
    sheet.text(ASIDE, TOP + 4, words(f"matrix.legend.{kind}"), style.BODY, bold=True)
    for i, value in enumerate(found[:: -(-len(found) // MOST_STEPS) or 1]):
        sheet.rect(ASIDE, TOP + 22 + i * 30, 36, 22, paints[value][0], stroke=style.MUTED)
        sheet.text(ASIDE + 46, TOP + 38 + i * 30, label(value, kind))
    return sheet.picture(f"{told}.", values=table.tolist(), kind=kind)


def colours(share: float) -> tuple[str, str]:
    """Return the colour between the least, 0, and the most, 1, and the ink to be read on it."""
    rgb = [round(float(np.interp(share, (0, 0.5, 1), stops))) for stops in SHADES]
    return "#{:02X}{:02X}{:02X}".format(*rgb), style.PAPER if share > DARK else BLACK


def label(value: float, kind: str) -> str:
    """Return a value as its cell shows it."""
    if value < 0:
        return words("matrix.none")
    return f"NV{value:g}" if kind == "links" and value else f"{value:g}"


def cells(sheet: Drawing, spots: list[list[int]], size: float, small: bool, said: str,
          paint: str, ink: str) -> None:
    """Draw all cells of one value as one path, and the value while it can be read."""
    font = style.TINY if size < 50 else style.BODY
    line = "".join(f"M{LEFT + column * size:g} {TOP + (row + 0.5) * size:g}h{size - small:g}"
                   for row, column in spots)
    sheet.path(line, stroke=paint, stroke_width=size - small)
    for row, column in spots:
        if small and row != column:
            x, y = LEFT + (column + 0.5) * size, TOP + (row + 0.5) * size + font * 0.36
            sheet.text(x, y, said, font, ink, "middle")


def margins(sheet: Drawing, count: int, size: float) -> None:
    """Name rows and columns, or every eighth of them."""
    sheet.text(LEFT, TOP - 28, words("matrix.to"), style.SMALL, style.MUTED)
    sheet.text(LEFT - 8, TOP - 8, words("matrix.from"), style.SMALL, style.MUTED, "end")
    for i in range(0, count, 1 if count <= MOST_NAMES else 8):
        middle, short = (i + 0.5) * size, f"GPU{i}" if size > 42 else f"{i}"
        sheet.text(LEFT + middle, TOP - 8, short, style.TINY, style.INK, "middle")
        sheet.text(LEFT - 8, TOP + middle + 4, f"GPU{i}", style.TINY, style.INK, "end")


def finding(table: np.ndarray, kind: str) -> str:
    """Return the title: what is most worth knowing about the table."""
    pairs = table[np.triu_indices(len(table), 1)]
    most, missing = pairs.max(initial=0), (pairs < 0).sum()
    count = (pairs > 0 if kind == "links" else pairs == most).sum()
    case = "missing" if missing else f"{kind}.{'some' if (pairs < most).any() else 'all'}"
    return words(f"matrix.title.{case}", pairs=len(pairs), count=count, missing=missing,
                 most=label(most, kind))
