"""A value for each pair of GPUs as a table of colours: links, hops, bandwidth, traffic."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import base_unit, format_rate, format_size

WIDTH, HEIGHT, LEFT, TOP, SIDE, ASIDE = 960.0, 600.0, 84.0, 108.0, 464.0, 600.0
MOST_NAMES, MOST_STEPS, BLACK = 16, 10, "#000000"
FINE, MISSING, SELF = 48.0, -1.0, -2.0  # shades from the least to the most, and two that have none
#: From the least to the most, and the share from which on white ink reads better than black; the
#: lightness falls all the way, so hue is never needed.
SHADES = {"hops": (((255, 243, 214), (230, 159, 0), (122, 46, 0)), 0.76),
          "": (((234, 246, 241), (63, 168, 133), (0, 64, 46)), 0.68)}
FloatArray = NDArray[np.float64]


def matrix(values: ArrayLike, kind: str) -> Picture:
    """Draw an N x N table of "links", "hops", "bandwidth" (bytes/s one way) or "traffic" (bytes).

    Rows send to columns. NaN or a value below 0 means that there is none; the diagonal stays empty.
    """
    table = np.array(values, dtype=float)
    require(table.ndim == 2 and len(table) == table.shape[-1],
            f"A matrix of pairs is square; this one has the shape {table.shape}")
    require(len(table) and not np.isinf(table).any(),
            "A matrix needs one GPU or more, and no infinite values")
    table[~(table >= 0)] = MISSING
    np.fill_diagonal(table, 0)
    told, sheet = finding(table, kind), Drawing(WIDTH, HEIGHT)
    size = SIDE // len(table) or SIDE / len(table)  # whole pixels while they are enough
    unit = {"bandwidth": "GB/s", "traffic": format_size(table.max()).split()[1]}.get(kind, "")
    sheet.heading(told, words(f"matrix.reading.{kind}"))
    margins(sheet, len(table), size)
    sheet.layer()
    cells(sheet, table, kind, unit, size)
    legend(sheet, table, kind, unit)
    return sheet.picture(f"{told}.", values=table.tolist(), kind=kind)


def pairs(table: FloatArray) -> FloatArray:
    """Return what stands off the diagonal."""
    return table[~np.eye(len(table), dtype=bool)]


def shades(table: FloatArray) -> FloatArray:
    """Return the shade of each cell, from 0 for the least value to `FINE` for the most."""
    low = pairs(table)[pairs(table) >= 0].min(initial=table.max())
    found = ((table - low) / (table.max() - low or 1) * FINE).round()
    found[table < 0] = MISSING
    np.fill_diagonal(found, SELF)
    return np.asarray(found)


def colours(shade: float, kind: str) -> tuple[str, str]:
    """Return the colour of a shade and the ink that can be read on it."""
    if shade < 0:
        return style.GROUND if shade == MISSING else style.RULE, style.INK
    stops, dark = SHADES.get(kind, SHADES[""])
    share = shade / FINE
    rgb = [round(float(np.interp(share, (0, 0.5, 1), stop))) for stop in zip(*stops, strict=True)]
    return "#{:02X}{:02X}{:02X}".format(*rgb), style.PAPER if share > dark else BLACK


def shown(value: float, unit: str, kind: str) -> str:
    """Return a value as its cell shows it."""
    if value < 0:
        return words("matrix.none")
    if kind == "links":
        return f"NV{value:g}" if value else "0"
    scaled = value / base_unit(unit)[0]
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.3g}"


def cells(sheet: Drawing, table: FloatArray, kind: str, unit: str, size: float) -> None:
    """Draw all cells of one shade as one path, and their values while they can be read."""
    small, font = len(table) <= MOST_NAMES, style.TINY if size < 50 else style.BODY
    found = shades(table)
    for shade in np.unique(found).tolist():
        paint, ink = colours(shade, kind)
        rows, columns = np.nonzero(found == shade)
        across, down = LEFT + columns * size, TOP + (rows + 0.5) * size
        spots = np.transpose([across, down, table[rows, columns]]).tolist()
        line = "".join(f"M{x:g} {y:g}h{size - small:g}" for x, y, _ in spots)
        sheet.path(line, stroke=paint, stroke_width=size - small)
        for x, y, value in spots if small and shade != SELF else ():
            said = shown(value, unit, kind)
            sheet.text(x + size / 2, y + font * 0.36, said, font, ink, "middle")


def margins(sheet: Drawing, count: int, size: float) -> None:
    """Name rows and columns, or every eighth of them."""
    sheet.text(LEFT, TOP - 28, words("matrix.to"), style.SMALL, style.MUTED)
    sheet.text(LEFT - 8, TOP - 8, words("matrix.from"), style.SMALL, style.MUTED, "end")
    for i in range(0, count, 1 if count <= MOST_NAMES else 8):
        middle, short = (i + 0.5) * size, f"GPU{i}" if size > 42 else f"{i}"
        sheet.text(LEFT + middle, TOP - 8, short, style.TINY, style.INK, "middle")
        sheet.text(LEFT - 8, TOP + middle + 4, f"GPU{i}", style.TINY, style.INK, "end")


def legend(sheet: Drawing, table: FloatArray, kind: str, unit: str) -> None:
    """Show what the colours mean, and how many pairs have each; of many values only some."""
    sheet.text(ASIDE, TOP + 4, words(f"matrix.legend.{kind}", unit=unit), style.BODY, bold=True)
    values, first, counts = np.unique(pairs(table), return_index=True, return_counts=True)
    rows = [*zip(values.tolist(), pairs(shades(table))[first].tolist(), counts, strict=True)]
    some = np.unique(np.linspace(0, len(rows) - 1, MOST_STEPS).round())[: len(rows)]
    for i, (value, shade, count) in enumerate(rows[int(row)] for row in some):
        text = words("matrix.count", value=shown(value, unit, kind), count=count, of=counts.sum())
        sheet.rect(ASIDE, TOP + 22 + i * 30, 36, 22, colours(shade, kind)[0], stroke=style.MUTED)
        sheet.text(ASIDE + 46, TOP + 38 + i * 30, text)


def finding(table: FloatArray, kind: str) -> str:
    """Return the title: what is most worth knowing about the table."""
    values, sent = pairs(table), table.clip(0).sum(1)
    there = sent if kind == "traffic" else values[values >= 0]
    most = float(there.max(initial=0))
    least = float(there.min(initial=most))
    missing, count = (values < 0).sum(), (values > 0 if kind == "links" else values == most).sum()
    case = "missing" if missing else f"{kind}.{'all' if most == least else 'some'}"
    says: dict[str, Callable[[float], str]] = {"bandwidth": format_rate, "traffic": format_size}
    say, each = says.get(kind, "{:g}".format), 2 if (table == table.T).all() else 1
    return words(
        f"matrix.title.{case}", pairs=len(values) // each, count=count // each,
        missing=missing // each, most=say(most), least=say(least), top=int(sent.argmax()))
