"""What each generation of NVLink brought a GPU, and what its PCIe brought meanwhile."""

from itertools import pairwise

from nvlearn import catalog
from nvlearn.figures import style
from nvlearn.figures.drawing import Picture
from nvlearn.figures.plot import MARGIN, Axes, Plot, Scale, value_scale
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
        self.settled = made.year.settled and made.per_gpu.settled
        self.doubt = "" if self.settled else words("generations.doubt")
        self.gpu, self.road = gpu.name.split()[0], gpu.pcie.split()[-1]
        self.nvlink, self.pcie = (getattr(figure, way) / GB for figure in figures[1:])
        self.ratio = self.nvlink / self.pcie
        self.sources = [catalog.sources()[figure.source].document for figure in figures]


def generations(both_ways: bool = True, log: bool = False) -> Picture:
    """Draw NVLink and PCIe of one GPU against the years."""
    way = "both_ways" if both_ways else "one_way"
    rows = [Row(made, way) for made in catalog.nvlinks().values() if made.get("year")]
    first, *_, last = (row for row in rows if row.settled)
    told = {
        "first": first, "last": last, "years": last.year - first.year,
        "grown": last.nvlink / first.nvlink, "road_grown": last.pcie / first.pcie,
        "way": words(f"generations.{way}")}
    x = Scale(rows[0].year - BEFORE, rows[-1].year + TREAD,
              tuple((row.year, f"{row.year:g}") for row in rows))
    y = value_scale([[row.nvlink, row.pcie] for row in rows], words("generations.y", **told), log,
                    "{:,g}".format)
    plot = Plot(Axes("generations", x, y, left=150, top=106, bottom=400, height=560))
    stairs(plot, rows, "pcie", ROAD, "square")
    stairs(plot, rows, "nvlink", MAGLEV, "circle")
    names(plot, rows)
    table(plot, rows)
    sentence = words("generations.sentence", **told)
    return plot.picture(
        words("generations.title", **told), words("generations.subtitle"),
        sentence + words("generations.log_sentence") if log else sentence,
        **{part: [getattr(row, part) for row in rows] for part in (*CELLS, "name", "year")})


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


def table(plot: Plot, rows: list[Row]) -> None:
    """Write the numbers under their years, and where they come from."""
    for line, part in enumerate(CELLS):
        y, bold = plot.axes.bottom + 48 + 20 * line, part == "ratio"
        plot.sheet.text(MARGIN, y, words(f"generations.row_{part}"), style.SMALL, style.MUTED)
        for row in rows:
            x, ink = plot.axes.at(row.year, 1)[0], style.INK if row.settled else style.MUTED
            cell = words(f"generations.cell_{part}", **vars(row))
            plot.sheet.text(float(x), y, cell, style.SMALL, ink, "middle", bold)
    plot.sources(document for row in rows for document in row.sources)
