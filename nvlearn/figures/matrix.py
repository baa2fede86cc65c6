"""A value for each pair of GPUs as a table of colours: links, hops, bandwidth, traffic."""

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import base_unit, format_size

WIDTH, HEIGHT, LEFT, TOP, SIDE, ASIDE = 960.0, 600.0, 84.0, 108.0, 464.0, 600.0
MOST_NAMES, MOST_STEPS, BLACK, MISSING = 16, 10, "#000000", -1.0
#: Red, green and blue from the least to the most, and the share from which on white ink reads
#: better than black; the lightness falls all the way, so hue is never needed.
SHADES, DARK = ((234, 63, 0), (246, 168, 64), (241, 133, 46)), 0.68


def matrix(values: ArrayLike, kind: str) -> Picture:
    """Draw an N x N table of "links", "hops", "bandwidth" (bytes/s one way) or "traffic" (bytes).

    Rows send to columns. NaN or a value below 0 means that there is none; the diagonal stays empty.
    """
    table = np.array(values, dtype=float)
    square = table.ndim == 2 and len(table) == table.shape[1] > 0
    require(square and not np.isinf(table).any(), "A matrix of pairs is square, of one GPU or "
            f"more, and has no infinite values; this one has the shape {table.shape}")
    table[~(table >= 0)] = MISSING
    np.fill_diagonal(table, MISSING)
    size = SIDE // len(table) or SIDE / len(table)  # whole pixels while they are enough
    # Links and hops are told like a few bytes, as they are.
    unit = "GB/s" if kind == "bandwidth" else format_size(table.max(initial=0)).split()[1]
    told, sheet = finding(table, kind, unit), Drawing(WIDTH, HEIGHT)
    sheet.heading(told, words(f"matrix.reading.{kind}"))
    margins(sheet, len(table), size)
    sheet.layer()
    cells(sheet, table, kind, unit, size)
    legend(sheet, table, kind, unit)
    return sheet.picture(f"{told}.", values=table.tolist(), kind=kind)


def shares(table: np.ndarray) -> np.ndarray:
    """Return where values lie between the least, 0, and the most, 1, in steps that can be seen."""
    low = table[table >= 0].min(initial=table.max())
    return np.where(table < 0, MISSING, ((table - low) / (table.max() - low or 1)).round(2))


def colours(share: float) -> tuple[str, str]:
    """Return the colour of a share, and the ink that can be read on it."""
    if share < 0:
        return style.RULE, style.INK
    rgb = [round(float(np.interp(share, (0, 0.5, 1), stops))) for stops in SHADES]
    return "#{:02X}{:02X}{:02X}".format(*rgb), style.PAPER if share > DARK else BLACK


def shown(value: float, unit: str, kind: str) -> str:
    """Return a value as its cell shows it."""
    if value < 0:
        return words("matrix.none")
    if kind == "links":
        return f"NV{value:g}" if value else "0"
    scaled = value / base_unit(unit)[0]
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.3g}"


def cells(sheet: Drawing, table: np.ndarray, kind: str, unit: str, size: float) -> None:
    """Draw all cells of one colour as one path, and their values while they can be read."""
    small, font = len(table) <= MOST_NAMES, style.TINY if size < 50 else style.BODY
    found = shares(table)
    for share in np.unique(found).tolist():
        (paint, ink), spots = colours(share), np.argwhere(found == share).tolist()
        line = "".join(f"M{LEFT + column * size:g} {TOP + (row + 0.5) * size:g}h{size - small:g}"
                       for row, column in spots)
        sheet.path(line, stroke=paint, stroke_width=size - small)
        for row, column in spots:
            if small and row != column:
                x, y = LEFT + (column + 0.5) * size, TOP + (row + 0.5) * size + font * 0.36
                sheet.text(x, y, shown(table[row, column], unit, kind), font, ink, "middle")


def margins(sheet: Drawing, count: int, size: float) -> None:
    """Name rows and columns, or every eighth of them."""
    sheet.text(LEFT, TOP - 28, words("matrix.to"), style.SMALL, style.MUTED)
    sheet.text(LEFT - 8, TOP - 8, words("matrix.from"), style.SMALL, style.MUTED, "end")
    for i in range(0, count, 1 if count <= MOST_NAMES else 8):
        middle, short = (i + 0.5) * size, f"GPU{i}" if size > 42 else f"{i}"
        sheet.text(LEFT + middle, TOP - 8, short, style.TINY, style.INK, "middle")
        sheet.text(LEFT - 8, TOP + middle + 4, f"GPU{i}", style.TINY, style.INK, "end")


def legend(sheet: Drawing, table: np.ndarray, kind: str, unit: str) -> None:
    """Show what the colours mean; of many values only some."""
    sheet.text(ASIDE, TOP + 4, words(f"matrix.legend.{kind}", unit=unit), style.BODY, bold=True)
    values, found = np.unique(table[table >= 0]), shares(table)
    some = np.linspace(0, len(values) - 1, min(MOST_STEPS, len(values))).round().astype(int)
    for i, value in enumerate(values[some].tolist()):
        paint, _ = colours(found[table == value][0])
        sheet.rect(ASIDE, TOP + 22 + i * 30, 36, 22, paint, stroke=style.MUTED)
        sheet.text(ASIDE + 46, TOP + 38 + i * 30, shown(value, unit, kind))


def finding(table: np.ndarray, kind: str, unit: str) -> str:
    """Return the title: what is most worth knowing about the table."""
    values, sent, pairs = table[table >= 0], table.clip(0).sum(1), len(table) * (len(table) - 1)
    there = sent if kind == "traffic" else values
    most = float(there.max(initial=0))
    least, missing = float(there.min(initial=most)), pairs - len(values)
    count = (values > 0 if kind == "links" else values == most).sum()
    case = "missing" if missing else f"{kind}.{'all' if most == least else 'some'}"
    each = 2 if (table == table.T).all() else 1
    return words(
        f"matrix.title.{case}", pairs=pairs // each, count=count // each, unit=unit,
        missing=missing // each, most=shown(most, unit, kind), least=shown(least, unit, kind),
        top=int(sent.argmax()))
