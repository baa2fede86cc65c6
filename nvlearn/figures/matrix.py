"""A value for each pair of GPUs as a table of colours: links, hops, bandwidth, traffic."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, number
from nvlearn.figures.picture import Picture
from nvlearn.i18n import words
from nvlearn.units import base_unit, format_rate, format_size

WIDTH, HEIGHT, LEFT, TOP, SIDE, ASIDE = 960.0, 600.0, 84.0, 108.0, 464.0, 600.0
MOST_NAMES, MOST_STEPS, BLACK = 16, 7, "#000000"
#: From the least to the most; the lightness falls all the way, so hue is never needed.
SHADES = {"hops": ((255, 243, 214), (230, 159, 0), (122, 46, 0)),
          "": ((234, 246, 241), (63, 168, 133), (0, 64, 46))}
NONE = -1.0
FloatArray = NDArray[np.float64]


def matrix(
    values: ArrayLike, kind: str, *, names: Sequence[str] | None = None, title: str | None = None,
    highlight: Collection[tuple[int | None, int | None]] = (),
) -> Picture:
    """Draw an N x N table of "links", "hops", "bandwidth" (bytes/s one way) or "traffic" (bytes).

    Rows send to columns. NaN or a value below 0 means that there is none; the diagonal stays
    empty. `highlight` frames cells (row, column); None frames a whole column or row.
    """
    table = np.array(values, dtype=float)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"A matrix of pairs is square; this one has the shape {table.shape}.")
    if not len(table) or np.isinf(table).any() or (names and len(names) != len(table)):
        raise ValueError("A matrix needs one GPU or more, no infinite values, and a name for each "
                         f"GPU; got {table.shape} values and {len(names or ())} names.")
    table[~(table >= 0)] = NONE
    np.fill_diagonal(table, 0)
    told, sheet, size = finding(table, kind), Drawing(WIDTH, HEIGHT), cell(table)
    sheet.heading(title or told, words(f"matrix.reading.{kind}"))
    margins(sheet, names or [f"GPU{i}" for i in range(len(table))], size)
    sheet.layer()
    cells(sheet, table, kind, size)
    legend(sheet, table, kind)
    for row, column in highlight:
        x, w = (LEFT, size * len(table)) if column is None else (LEFT + column * size, size)
        y, h = (TOP, size * len(table)) if row is None else (TOP + row * size, size)
        sheet.rect(x, y, w, h, "none", stroke=style.INK, stroke_width=3)
    return sheet.picture(f"{told}.", values=table.tolist(), kind=kind)


def cell(table: FloatArray) -> float:
    """Return the side of a cell: whole pixels while they are enough."""
    return SIDE // len(table) or SIDE / len(table)


def known(table: FloatArray) -> FloatArray:
    """Return the values off the diagonal that there are."""
    off: FloatArray = table[~np.eye(len(table), dtype=bool) & (table >= 0)]
    return off


def shares(values: FloatArray, table: FloatArray) -> FloatArray:
    """Return where values lie between the least (0) and the most (1), in fine steps."""
    low, high = known(table).min(initial=table.max()), table.max()
    share: FloatArray = np.round(np.clip((values - low) / (high - low or 1), 0, 1) * 48) / 48
    return share


def colours(share: float, kind: str) -> tuple[str, str]:
    """Return a colour and the ink that can be read on it."""
    stops = zip(*SHADES.get(kind, SHADES[""]), strict=True)
    rgb = [round(float(np.interp(share, (0, 0.5, 1), stop))) for stop in stops]
    light = [(c / 255 + 0.055) ** 2.4 / 1.137 if c > 10 else c / 3295 for c in rgb]
    dark = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] < 0.179
    return "#" + "".join(f"{c:02X}" for c in rgb), style.PAPER if dark else BLACK


def unit(table: FloatArray, kind: str) -> str:
    """Return the unit that all cells share."""
    if kind == "traffic":
        return format_size(max(table.max(), 0.0)).split()[1]
    return {"bandwidth": "GB/s"}.get(kind, "")


def shown(value: float, name: str, kind: str) -> str:
    """Return a value as its cell shows it."""
    if value < 0:
        return words("matrix.none")
    if kind == "links":
        return f"NV{value:g}" if value else "0"
    scaled = value / base_unit(name)[0] if name else value
    if 0 < scaled < 0.05:
        return "<0.1"
    return f"{scaled:.0f}" if scaled >= 100 else f"{scaled:.1f}".removesuffix(".0")


def cells(sheet: Drawing, table: FloatArray, kind: str, size: float) -> None:
    """Draw all cells of one colour as one path, and their values while they can be read."""
    paths: dict[str, list[str]] = {}
    texts: list[tuple[float, float, str, float, str, str]] = []
    small, name, share = len(table) <= MOST_NAMES, unit(table, kind), shares(table, table)
    looks = {step: colours(step, kind) for step in {*share.ravel().tolist()}}
    wide, font = number(size - small), style.TINY if size < 50 else style.BODY
    for (row, column), value in np.ndenumerate(table):
        paint, ink = looks[float(share[row, column])]
        if row == column or value < 0:
            paint, ink = (style.RULE if row == column else style.GROUND), style.INK
        x, y = LEFT + column * size, TOP + (row + 0.5) * size
        paths.setdefault(paint, []).append(f"M{number(x)} {number(y)}h{wide}")
        if small and row != column:
            spot = x + size / 2, y + font * 0.36
            texts.append((*spot, shown(float(value), name, kind), font, ink, "middle"))
    for paint, rows in paths.items():
        sheet.path("".join(rows), stroke=paint, stroke_width=size - small)
    for text in texts:
        sheet.text(*text)


def margins(sheet: Drawing, names: Sequence[str], size: float) -> None:
    """Name rows and columns, or every eighth of them."""
    sheet.text(LEFT, TOP - 28, words("matrix.to"), style.SMALL, style.MUTED)
    sheet.text(LEFT - 8, TOP - 8, words("matrix.from"), style.SMALL, style.MUTED, "end")
    for i, name in list(enumerate(names))[:: 1 if len(names) <= MOST_NAMES else 8]:
        middle = (i + 0.5) * size
        short = name if size > 42 else name.removeprefix("GPU")
        sheet.text(LEFT + middle, TOP - 8, short, style.TINY, style.INK, "middle")
        sheet.text(LEFT - 8, TOP + middle + 4, name, style.TINY, style.INK, "end")


def legend(sheet: Drawing, table: FloatArray, kind: str) -> None:
    """Show what the colours mean, and how many pairs have each where the values are few."""
    values, counts = np.unique(known(table), return_counts=True)
    if many := len(values) > MOST_STEPS:
        whole = (values == values.round()).all()
        steps = np.linspace(values[0], values[-1], MOST_STEPS)
        values = steps.round() if whole else steps
    paints = [colours(step, kind)[0] for step in shares(values, table).tolist()]
    rows = [*zip(values.tolist(), paints, counts.tolist(), strict=False)]
    pairs, name = table.size - len(table), unit(table, kind)
    if missing := pairs - len(known(table)):
        rows.append((NONE, style.GROUND, missing))
    sheet.text(ASIDE, TOP + 4, words(f"matrix.legend.{kind}", unit=name), style.BODY, bold=True)
    for i, (value, paint, count) in enumerate(rows):
        y = TOP + 22 + i * 30
        sheet.rect(ASIDE, y, 36, 22, paint, stroke=style.MUTED, stroke_width=0.8)
        text = shown(value, name, kind)
        if not many or value < 0:
            text = words("matrix.count", value=text, count=count, share=f"{count / pairs:.0%}")
        sheet.text(ASIDE + 46, y + 16, text)


def finding(table: FloatArray, kind: str) -> str:
    """Return the title: what is most worth knowing about the table."""
    values, n = known(table), len(table)
    each = 2 if (table == table.T).all() else 1
    most, least = values.max(initial=0), values.min(initial=0 if not len(values) else values.max())
    if kind == "traffic":
        sent = np.where(table > 0, table, 0).sum(1)
        values, most, least = sent, sent.max(), sent.min()
    missing = n * n - n - len(known(table))
    count = {"links": (values > 0).sum(), "hops": (values == most).sum()}.get(kind, 0)
    case = "all" if most == least and not missing else "missing" if missing else "some"
    written = [format_rate(v) if kind == "bandwidth" else format_size(v) if kind == "traffic"
               else f"{v:g}" for v in (float(most), float(least))]
    return words(
        f"matrix.title.{kind}.{case}", pairs=(n * n - n) // each, count=count // each,
        missing=missing // each, most=written[0], least=written[1],
        ratio=f"{most / least if least else 0:.3g}", top=int(values.argmax()) if len(values) else 0)
