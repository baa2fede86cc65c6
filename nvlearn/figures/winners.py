"""The winner map: which algorithm is the fastest, by message size and number of ranks."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, text_width
from nvlearn.formulas import require
from nvlearn.i18n import words
from nvlearn.units import format_size

WIDTH, LEFT, RIGHT, TOP, TALL = 960.0, 92.0, 936.0, 104.0, 380.0
#: Fills by the algorithm's name, each readable under ink; another name gets the last one.
FILLS = {"ring": "#9CD3F2", "tree": "#F2C879", "nvls": "#7FD1B5", "nvls_tree": "#BFE3D3",
         "direct": "#E3B7CF", "hierarchical": "#F0E68C", "": style.WORK}


def winner_map(winners: ArrayLike, ranks: Sequence[int], sizes: Sequence[float], title: str = "",
               over: ArrayLike | None = None) -> Picture:
    """Draw names of winners, a row for each number of ranks, a column for each size in bytes.

    Names such as "ring LL" take the colour of their first word. `over` is a second table of names:
    a thick line shows where its winners change.
    """
    names = np.asarray(winners, dtype=str)
    require(names.shape == (len(ranks), len(sizes)) and names.size > 0, words(
        "winners.shape", shape=names.shape, ranks=len(ranks), sizes=len(sizes)))
    sheet, told = Drawing(WIDTH, TOP + TALL + 76), story(names, ranks, sizes)
    wide, tall = (RIGHT - LEFT) / len(sizes), TALL / len(ranks)
    axes(sheet, ranks, sizes, wide, tall)
    sheet.layer()
    sheet.heading(title or told, words("winners.subtitle"))
    for row, (_, line) in enumerate(zip(ranks, names, strict=True)):
        column = 0
        for name, cells in groupby(line.tolist()):
            count = len(list(cells))
            box(sheet, name, LEFT + column * wide, TOP + row * tall, count * wide, tall)
            column += count
    if over is not None:
        border(sheet, np.asarray(over, dtype=str), wide, tall)
    return sheet.picture(told, winners=names.tolist())


def axes(sheet: Drawing, ranks: Sequence[int], sizes: Sequence[float], wide: float,
         tall: float) -> None:
    """Write the ranks beside the rows and about ten sizes below the columns."""
    small = style.SMALL, style.MUTED
    sheet.text(24, TOP - 14, words("winners.ranks"), *small)
    for row, count in enumerate(ranks):
        sheet.text(LEFT - 10, TOP + (row + 0.5) * tall + 4, str(count), *small, "end")
    every = max(1, round(len(sizes) / 10))
    for column in range(0, len(sizes), every):
        x = LEFT + (column + 0.5) * wide
        said = format_size(sizes[column], binary=True)
        sheet.text(x, TOP + TALL + 18, said, *small, "middle")
    sheet.text((LEFT + RIGHT) / 2, TOP + TALL + 40, words("winners.sizes"), *small, "middle")


def box(sheet: Drawing, name: str, x: float, y: float, w: float, h: float) -> None:
    """Draw neighbours with the same winner as one box, with its name where it fits."""
    fill = FILLS.get(name.split(" ")[0], FILLS[""])
    sheet.rect(x, y, w, h, fill, stroke=style.PAPER, stroke_width=1)
    if text_width(name, style.TINY) < w - 4 and h > 12:
        sheet.text(x + w / 2, y + h / 2 + 4, name, style.TINY, style.INK, "middle")


def border(sheet: Drawing, names: NDArray[np.str_], wide: float, tall: float) -> None:
    """Draw a line wherever the second table changes."""
    upright = [f"M{LEFT + (c + 1) * wide:.1f} {TOP + r * tall:.1f}v{tall:.1f}"
               for r, c in np.argwhere(names[:, 1:] != names[:, :-1]).tolist()]
    level = [f"M{LEFT + c * wide:.1f} {TOP + (r + 1) * tall:.1f}h{wide:.1f}"
             for r, c in np.argwhere(names[1:] != names[:-1]).tolist()]
    sheet.path("".join(upright + level), stroke=style.INK, stroke_width=2.5)


def story(names: NDArray[np.str_], ranks: Sequence[int], sizes: Sequence[float]) -> str:
    """Say what wins where on the most ranks, from the smallest size on."""
    row, column, parts = names[-1].tolist(), 0, []
    for name, cells in groupby(row):
        parts.append(words("winners.part", name=name, size=format_size(
            sizes[column], binary=True)))
        column += len(list(cells))
    return words("winners.title", ranks=ranks[-1], parts=", ".join(parts))
