"""What each generation of NVLink brought a GPU, and what its PCIe brought meanwhile."""

from itertools import pairwise

from nvlearn import catalog
from nvlearn.figures import style
from nvlearn.figures.drawing import Picture
from nvlearn.figures.plot import MARGIN, Axes, Plot, Scale, value_scale
from nvlearn.i18n import words
from nvlearn.units import GB

DASHES, BEFORE, TREAD = ("3 4", "none"), 1.5, 0.9
CELLS = ("name", "gpu", "nvlink", "factor", "pcie", "ratio")


class Row:
    """One generation: the GPU that brought it, and the totals of that GPU in GB/s."""

    def __init__(self, made: catalog.NVLink, way: str) -> None:
        """Read the numbers of a generation, "one_way" or "both_ways"."""
        gpu, self.year = catalog.gpu(made.first_gpu), made.year.value
        figures = (made.year, made.per_gpu, catalog.pcie(gpu.pcie).raw)
        self.settled = made.year.settled and made.per_gpu.settled
        self.doubt = "" if self.settled else words("generations.doubt")
        self.gpu, self.road = gpu.name.split()[0], gpu.pcie.split()[-1]
        self.nvlink, self.pcie = (getattr(figure, way) / GB for figure in figures[1:])
        self.ratio, self.factor, self.name = self.nvlink / self.pcie, "", made.name.split()[-1]
        self.sources = [catalog.sources()[figure.source].document for figure in figures]


def generations(both_ways: bool = True, log: bool = False) -> Picture:
    """Draw NVLink and PCIe of one GPU against the years."""
    way = "both_ways" if both_ways else "one_way"
    rows = [Row(made, way) for made in catalog.nvlinks().values() if made.get("year")]
    for before, row in pairwise(rows):
        row.factor = words("generations.factor", factor=row.nvlink / before.nvlink)
    first, *_, last = (row for row in rows if row.settled)
    told = {
        "first": first, "last": last, "years": last.year - first.year,
        "grown": last.nvlink / first.nvlink, "road_grown": last.pcie / first.pcie,
        "way": words(f"generations.{way}"), "scale": words("generations.log") if log else ""}
    x = Scale(rows[0].year - BEFORE, rows[-1].year + TREAD,
              tuple((row.year, f"{row.year:g}") for row in rows))
    y = value_scale([[row.nvlink, row.pcie] for row in rows], words("generations.y", **told), log,
                    "{:,g}".format)
    plot = Plot(Axes("generations", x, y, left=150, top=126, bottom=356, height=560))
    stairs(plot, rows, "nvlink", "circle")
    stairs(plot, rows, "pcie", "square")
    table(plot, rows)
    return plot.picture(
        words("generations.title", **told), words("generations.subtitle"),
        words("generations.sentence", **told), [name for row in rows for name in row.sources],
        **{part: [getattr(row, part) for row in rows] for part in (*CELLS, "year")})


def stairs(plot: Plot, rows: list[Row], part: str, marker: str) -> None:
    """Draw stairs: a tread lasts until the next GPU; what is not settled is dashed and hollow."""
    way, name = style.WAYS[part], words(f"generations.line_{part}")
    levels, ends = [getattr(row, part) for row in rows], [row.year for row in rows[1:]]
    steps = zip(rows, levels[:1] + levels, levels, [*ends, rows[-1].year + TREAD], strict=False)
    for row, before, level, end in steps:
        places = [row.year, row.year, end], [before, level, level]
        plot.curve(*places, way.fill, DASHES[row.settled], 3, name if row is rows[0] else "")
        plot.points([row.year], [level], way.dark, marker, hollow=not row.settled)


def table(plot: Plot, rows: list[Row]) -> None:
    """Write the numbers under their years."""
    for line, part in enumerate(CELLS):
        y, bold = plot.axes.bottom + 48 + 20 * line, part == "ratio"
        plot.sheet.text(MARGIN, y, words(f"generations.row_{part}"), style.SMALL, style.MUTED)
        for row in rows:
            x, ink = plot.axes.at(row.year, 1)[0], style.INK if row.settled else style.MUTED
            cell = words(f"generations.cell_{part}", **vars(row))
            plot.sheet.text(float(x), y, cell, style.SMALL, ink, "middle", bold)
