"""A value for each pair of GPUs as a table of colours: links, hops, bandwidth, traffic."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, element, number
from nvlearn.figures.picture import Picture
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import base_unit, format_rate, format_size

WIDTH, HEIGHT, LEFT, TOP, SIDE, ASIDE = 960.0, 600.0, 84.0, 108.0, 464.0, 600.0
MOST_NAMES, MOST_STEPS, BLACK = 16, 7, "#000000"
#: From the least to the most, and the share from which on white ink reads better than black; the
#: lightness falls all the way, so hue is never needed.
SHADES = {"hops": (((255, 243, 214), (230, 159, 0), (122, 46, 0)), 0.76),
          "": (((234, 246, 241), (63, 168, 133), (0, 64, 46)), 0.68)}
NONE = -1.0
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
    table[~(table >= 0)] = NONE
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


def known(table: FloatArray) -> FloatArray:
    """Return the values off the diagonal that there are."""
    return np.extract(~np.eye(len(table), dtype=bool) & (table >= 0), table)


def shares(values: FloatArray, table: FloatArray) -> FloatArray:
    """Return where values lie between the least (0) and the most (1), in fine steps."""
    low, high = known(table).min(initial=table.max()), table.max()
    return np.asarray(np.round(np.clip((values - low) / (high - low or 1), 0, 1) * 48) / 48)


def colours(share: float, kind: str) -> tuple[str, str]:
    """Return a colour and the ink that can be read on it."""
    stops, dark = SHADES.get(kind, SHADES[""])
    rgb = [round(float(np.interp(share, (0, 0.5, 1), stop))) for stop in zip(*stops, strict=True)]
    return "#{:02X}{:02X}{:02X}".format(*rgb), style.PAPER if share > dark else BLACK


def shown(value: float, unit: str, kind: str) -> str:
    """Return a value as its cell shows it."""
    if value < 0:
        return words("matrix.none")
    if kind == "links":
        return f"NV{value:g}" if value else "0"
    scaled = value / base_unit(unit)[0]
    if 0 < scaled < 0.05:
        return "<0.1"
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.1f}".removesuffix(".0")


def cells(sheet: Drawing, table: FloatArray, kind: str, unit: str, size: float) -> None:
    """Draw all cells of one colour as one path, and their values while they can be read."""
    paths: dict[str, list[str]] = {}
    small, font = len(table) <= MOST_NAMES, style.TINY if size < 50 else style.BODY
    where, wide = shares(table, table), number(size - small)
    looks = {share: colours(share, kind) for share in {*where.ravel().tolist()}}
    for (row, column), value in np.ndenumerate(table):
        paint, ink = looks[float(where[row, column])]
        if row == column or value < 0:
            paint, ink = (style.RULE if row == column else style.GROUND), style.INK
        x, y = LEFT + column * size, TOP + (row + 0.5) * size
        paths.setdefault(paint, []).append(f"M{number(x)} {number(y)}h{wide}")
        if small and row != column:
            sheet.text(x + size / 2, y + font * 0.36, shown(float(value), unit, kind), font, ink,
                       "middle")
    sheet.layers[-1][:0] = [
        element("path", d="".join(rows), fill="none", stroke=paint, stroke_width=size - small)
        for paint, rows in paths.items()]


def margins(sheet: Drawing, count: int, size: float) -> None:
    """Name rows and columns, or every eighth of them."""
    sheet.text(LEFT, TOP - 28, words("matrix.to"), style.SMALL, style.MUTED)
    sheet.text(LEFT - 8, TOP - 8, words("matrix.from"), style.SMALL, style.MUTED, "end")
    for i in range(0, count, 1 if count <= MOST_NAMES else 8):
        middle, short = (i + 0.5) * size, f"GPU{i}" if size > 42 else f"{i}"
        sheet.text(LEFT + middle, TOP - 8, short, style.TINY, style.INK, "middle")
        sheet.text(LEFT - 8, TOP + middle + 4, f"GPU{i}", style.TINY, style.INK, "end")


def legend(sheet: Drawing, table: FloatArray, kind: str, unit: str) -> None:
    """Show what the colours mean, and how many pairs have each where the values are few."""
    values, counts = np.unique(known(table), return_counts=True)
    if many := len(values) > MOST_STEPS:
        steps = np.linspace(values[0], values[-1], MOST_STEPS)
        values = steps.round() if (values == values.round()).all() else steps
    paints = [colours(share, kind)[0] for share in shares(values, table).tolist()]
    rows = [*zip(values.tolist(), paints, counts.tolist(), strict=False)]
    pairs = table.size - len(table)
    if missing := pairs - len(known(table)):
        rows.append((NONE, style.GROUND, missing))
    sheet.text(ASIDE, TOP + 4, words(f"matrix.legend.{kind}", unit=unit), style.BODY, bold=True)
    for i, (value, paint, count) in enumerate(rows):
        y, text = TOP + 22 + i * 30, shown(value, unit, kind)
        if not many or value < 0:
            text = words("matrix.count", value=text, count=count, share=f"{count / pairs:.0%}")
        sheet.rect(ASIDE, y, 36, 22, paint, stroke=style.MUTED, stroke_width=0.8)
        sheet.text(ASIDE + 46, y + 16, text)


def finding(table: FloatArray, kind: str) -> str:
    """Return the title: what is most worth knowing about the table."""
    there, sent, pairs = known(table), table.clip(0).sum(1), table.size - len(table)
    missing, values = pairs - len(there), sent if kind == "traffic" else there
    most = float(values.max(initial=0))
    least = float(values.min(initial=most))
    count = {"links": (values > 0).sum(), "hops": (values == most).sum()}.get(kind, 0)
    case = "missing" if missing else "all" if most == least else "some"
    says: dict[str, Callable[[float], str]] = {"bandwidth": format_rate, "traffic": format_size}
    say = says.get(kind, "{:g}".format)
    each = 2 if (table == table.T).all() else 1
    return words(
        f"matrix.title.{kind}.{case}", pairs=pairs // each, count=count // each,
        missing=missing // each, most=say(most), least=say(least),
        ratio=f"{most / least if least else 0:.3g}", top=int(sent.argmax()))
