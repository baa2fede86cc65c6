"""The winner map: which algorithm is the fastest, by message size and number of ranks."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, text_width
from nvlearn.figures.plot import Axes, Plot, Scale, trail
from nvlearn.formulas import require
from nvlearn.i18n import words
from nvlearn.units import format_size

#: Fills by the algorithm's name, each readable under ink.
FILLS = {"ring": "#9CD3F2", "tree": "#F2C879", "nvls": "#7FD1B5", "nvls_tree": "#BFE3D3",
         "direct": "#E3B7CF", "hierarchical": "#F0E68C"}


def winner_map(winners: ArrayLike, ranks: Sequence[int], sizes: Sequence[float], title: str = "",
               over: ArrayLike | None = None) -> Picture:
    """Draw names of winners, a row for each number of ranks, a column for each size in bytes.

    Names such as "ring LL" take the colour of their first word. `over` is a second table of names:
    a thick line shows where its winners change.
    """
    names = np.asarray(winners, dtype=str)
    require(names.shape == (len(ranks), len(sizes)) and names.size > 0, words(
        "winners.shape", shape=names.shape, ranks=len(ranks), sizes=len(sizes)))
    said = [format_size(size, binary=True) for size in sizes]
    columns = tuple((place + 0.5, said[place])
                    for place in range(0, len(sizes), max(1, round(len(sizes) / 10))))
    rows = tuple((place + 0.5, str(count)) for place, count in enumerate(ranks))
    plot = Plot(Axes("winners", Scale(0, len(sizes), columns, words("winners.sizes")),
                     Scale(len(ranks), 0, rows, words("winners.ranks")), left=92, right=936))
    across, (top, low) = (edges.tolist() for edges in plot.axes.at(range(len(sizes) + 1), [0, 1]))
    for row, line in enumerate(names):
        for name, first, last in runs(line):
            x, wide = across[first], across[last] - across[first]
            box(plot.sheet, name, x, top + row * (low - top), wide, low - top)
    if over is not None:
        border(plot, np.asarray(over, dtype=str))
    parts = [words("winners.part", name=name, size=said[at]) for name, at, _ in runs(names[-1])]
    told = words("winners.title", ranks=ranks[-1], parts=", ".join(parts))
    return plot.picture(title or told, words("winners.subtitle"), told, winners=names.tolist())


def runs(names: np.ndarray) -> list[tuple[str, int, int]]:
    """Return each name with the place where it begins and the place before which it ends."""
    turns = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
    return [(str(names[a]), a, b) for a, b in pairwise(turns)]


def box(sheet: Drawing, name: str, x: float, y: float, wide: float, tall: float) -> None:
    """Draw neighbours with the same winner as one box, with its name where it fits."""
    sheet.rect(x, y, wide, tall, FILLS.get(name.split(" ")[0], style.WORK), stroke=style.PAPER)
    if text_width(name, style.TINY) < wide - 4 and tall > 12:
        sheet.text(x + wide / 2, y + tall / 2 + 4, name, style.TINY, anchor="middle")


def border(plot: Plot, names: np.ndarray) -> None:
    """Draw a line wherever the second table changes."""
    for change, right, down in ((names[:, 1:] != names[:, :-1], 1, 0),
                                (names[1:] != names[:-1], 0, 1)):
        row, column = np.nonzero(change)
        xs = np.transpose([column + right, column + 1, column * np.nan])
        ys = np.transpose([row + down, row + 1, row])
        plot.sheet.path(trail(*plot.axes.at(xs, ys)), stroke=style.INK, stroke_width=2.5)
