"""What each generation of NVLink brought a GPU, and what its PCIe brought meanwhile."""

from collections.abc import Iterable
from itertools import pairwise

from nvlearn import catalog, errata
from nvlearn.figures import style
from nvlearn.figures.picture import Picture
from nvlearn.figures.plot import MARGIN, Axes, Plot, Scale, value_scale
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import GB

MAGLEV, ROAD, DASHES = style.WAYS["nvlink"], style.WAYS["pcie"], ("3 4", "none")
BEFORE, TREAD = 1.5, 0.9
CELLS = ("gpu", "nvlink", "pcie", "ratio")


class Row:
    """One generation: the GPU that brought it, and the totals of that GPU in GB/s."""

    def __init__(self, made: catalog.NVLink, way: str) -> None:
        """Read the numbers of a generation, "one_way" or "both_ways"."""
        gpu, self.name, self.year = catalog.gpu(made.first_gpu), made.name, made.year.value
        figures = (made.year, made.per_gpu, catalog.pcie(gpu.pcie).raw)
        self.settled = all(figure.settled for figure in figures[:2])
        self.doubt = "" if self.settled else words("generations.doubt")
        self.gpu, self.road = gpu.name.partition(" ")[0], gpu.pcie.rpartition(" ")[2]
        self.nvlink, self.pcie = (getattr(figure, way) / GB for figure in figures[1:])
        self.ratio = self.nvlink / self.pcie
        self.sources = [catalog.sources()[figure.source].document for figure in figures]


def generations(both_ways: bool = True, log: bool = False, ghost: bool = False,
                rows: Iterable[catalog.NVLink] | None = None) -> Picture:
    """Draw NVLink and PCIe of one GPU against the years; the ghost is the source's mistake."""
    way = "both_ways" if both_ways else "one_way"
    made = catalog.nvlinks().values() if rows is None else rows
    shown = [Row(row, way) for row in made if row.get("year")]
    require(len(shown) > 1, "The stairs need two generations with a year, or more")
    plot = Plot(axes(shown, words(f"generations.{way}"), log))
    stairs(plot, shown, "pcie", ROAD, "square")
    stairs(plot, shown, "nvlink", MAGLEV, "circle")
    names(plot, shown)
    table(plot, shown)
    wrong = cross_out(plot, way) if ghost else ""
    known = [row for row in shown if row.settled] or shown
    first, last = known[0], known[-1]
    title, sentence = (
        words(f"generations.{part}", first=first, last=last, way=words(f"generations.{way}"),
              years=last.year - first.year, grown=last.nvlink / first.nvlink,
              road_grown=last.pcie / first.pcie) for part in ("title", "sentence"))
    data = {part: [getattr(row, part) for row in shown] for part in (*CELLS, "name", "year")}
    scale = words("generations.log_sentence") if log else ""
    return plot.picture(title, words("generations.subtitle"), sentence + scale + wrong, **data)


def axes(rows: list[Row], way: str, log: bool) -> Axes:
    """Return the axes: years as they come, GB/s from 0 or from a round number on."""
    years = tuple((row.year, f"{row.year:g}") for row in rows)
    values = [value for row in rows for value in (row.nvlink, row.pcie)]
    y = value_scale(values, words("generations.y", way=way), log, "{:,g}".format)
    x = Scale(rows[0].year - BEFORE, rows[-1].year + TREAD, years)
    return Axes("generations", x, y, left=150, top=106, bottom=400, height=560)


def stairs(plot: Plot, rows: list[Row], part: str, way: style.Way, marker: str) -> None:
    """Draw stairs: a tread lasts until the next GPU; what is not settled is dashed and hollow."""
    places = [(row.year, getattr(row, part), row.settled) for row in rows]
    end, level, settled = places[-1]
    for (x0, y0, old), (x1, y1, new) in pairwise([*places, (end + TREAD, level, settled)]):
        plot.curve([x0, x1], [y0, y0], way.fill, DASHES[old], 3)
        plot.curve([x1, x1], [y0, y1], way.fill, DASHES[new], 3)
    for year, value, settled in places:
        plot.points([year], [value], way.dark, marker, hollow=not settled)


def names(plot: Plot, rows: list[Row]) -> None:
    """Write a generation's name left of its step, the factor right of it."""
    for row in rows:
        plot.label(row.year, row.nvlink, row.name, -8, -8, MAGLEV.dark, "end", bold=True)
    for before, row in pairwise(rows):
        factor = words("generations.factor", factor=row.nvlink / before.nvlink)
        plot.label(row.year, row.nvlink, factor, 8, -8, MAGLEV.dark)
    end, road = rows[-1].year + TREAD, words("generations.road")
    plot.label(end, rows[-1].pcie, road, -4, -10, ROAD.dark, "end", bold=True)


def cross_out(plot: Plot, way: str) -> str:
    """Cross out the total that the source document gives NVLink 5.0; return a sentence on it."""
    made, both = catalog.nvlink("5.0"), errata.entry("A1").numbers[0].value / GB
    x, said = made.year.value, both / made.per_gpu.both_ways * getattr(made.per_gpu, way)
    plot.points([x], [said], style.JAM, hollow=True)
    plot.points([x], [said], style.JAM, "cross")
    plot.label(x, said, words("generations.ghost", said=said), 12, 4, style.JAM)
    return words("generations.ghost_sentence", said=said)


def table(plot: Plot, rows: list[Row]) -> None:
    """Write the numbers under their years, and where they come from."""
    for line, part in enumerate(CELLS):
        y, bold = plot.axes.bottom + 48 + 20 * line, part == "ratio"
        plot.sheet.text(MARGIN, y, words(f"generations.row_{part}"), style.SMALL, style.MUTED)
        for row in rows:
            x = float(plot.axes.at(row.year, row.nvlink)[0])
            cell, ink = words(f"generations.cell_{part}", **vars(row)), (style.MUTED, style.INK)
            plot.sheet.text(x, y, cell, style.SMALL, ink[row.settled], "middle", bold)
    plot.sources(document for row in rows for document in row.sources)
