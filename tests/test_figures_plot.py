"""Plots: the frame is matplotlib's, what moves lies exactly on it, and both are readable."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from picture_checks import SVG, assert_fits

from nvlearn import catalog, formulas
from nvlearn.figures import Picture, generations, plot, size_curves, style
from nvlearn.figures.curves import Series, winners
from nvlearn.figures.plot import Axes, Plot, Scale, log_ticks, value_scale

SIZES = 2.0 ** np.arange(10, 35)
SOURCE = "S. Bekman, ml-engineering, network/README.md"
# Eight A100 and an NVSwitch, all-reduce: sizes, bus bandwidth in GB/s, time in us.
A100 = [(2**20, 18.0, 101.9), (2**24, 106.16, 276.6), (2**28, 194.07, 2420.6),
        (2**34, 234.89, 127997.0)]  # fmt: skip


def models(quantity: str = "busbw") -> list[Series]:
    times = {
        "Ring": formulas.ring_all_reduce_time(SIZES, 8, 370e9, 3e-6),
        "Tree": formulas.tree_all_reduce_time(SIZES, 8, 300e9, 2e-6),
        "NVLS": formulas.nvls_all_reduce_time(SIZES, 8, 315e9, 30e-6),
    }
    ways = ("nvlink", "infiniband", "nvswitch")
    return [
        Series(name, SIZES, time if quantity == "time" else 1.75 * SIZES / time, way)
        for (name, time), way in zip(times.items(), ways, strict=True)
    ]


def measured(quantity: str = "busbw") -> list[Series]:
    values = [rate * 1e9 if quantity == "busbw" else time * 1e-6 for _, rate, time in A100]
    return [Series("measured, 8 x A100", [m for m, *_ in A100], values, "pcie", source=SOURCE)]


PICTURES = {
    "generations": generations,
    "generations, one way": lambda: generations(both_ways=False),
    "generations, log": lambda: generations(log=True),
    "generations, log, one way": lambda: generations(both_ways=False, log=True),
    "generations, with a trend": lambda: generations(trend=35),
    "busbw": lambda: size_curves(models(), measured(), "busbw"),
    "busbw, linear": lambda: size_curves(models(), measured(), "busbw", log=False),
    "time": lambda: size_curves(models("time"), measured("time"), "time"),
    "time, linear": lambda: size_curves(models("time"), (), "time", log=False),
    "one": lambda: size_curves(models()[:1]),
    "decimal": lambda: size_curves([Series("Ring", [8, 1e9], [1e2, 1e12])]),
    "long names": lambda: size_curves(
        [Series(f"{each.name} between domains, with the network as the slowest part",
                SIZES, each.values) for each in models()]
    ),
}  # fmt: skip
each_picture = pytest.mark.parametrize("name", PICTURES)


def tree(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(picture: Picture) -> list[str]:
    return [element.text or "" for element in tree(picture.svg).iter(f"{SVG}text")]


def pixels(d: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] ?([-\d.]+) ([-\d.]+)", d)]


def marks(picture: Picture, **wanted: str) -> list[list[tuple[float, float]]]:
    """Return the points of the clipped paths with these attributes, in drawing order."""
    group = next(g for g in tree(picture.svg).iter(f"{SVG}g") if "clip-path" in g.attrib)
    return [
        pixels(path.attrib["d"])
        for path in group
        if all(path.attrib[key.replace("_", "-")] == value for key, value in wanted.items())
    ]


def axes_of(low: float = 1e3, high: float = 1e10, log: bool = True) -> Axes:
    x = Scale(low, high, tuple((t, f"{t:g}") for t in log_ticks(low, high)), "x", log=True)
    return Axes("test", x, value_scale([2.0, 700.0], "y", log, "{:g}".format))


@pytest.fixture(scope="module", params=[True, False], ids=["log", "linear"])
def axes(request: pytest.FixtureRequest) -> Axes:
    return axes_of(log=request.param)


@each_picture
def test_a_picture_is_well_formed_and_the_same_each_time(name: str) -> None:
    picture = PICTURES[name]()
    root = tree(picture.svg)
    assert root.attrib["aria-label"] == picture.description
    assert (picture.width, picture.height, len(picture.layers)) == (960, 560, 2)
    plot.frame.cache_clear()
    again = PICTURES[name]()
    assert (again.svg, again.layers) == (picture.svg, picture.layers)
    for layer in picture.layers:
        assert tree(layer).attrib["viewBox"] == root.attrib["viewBox"]


@each_picture
def test_nothing_of_matplotlib_leaks_into_the_page(name: str) -> None:
    picture = PICTURES[name]()
    bare = picture.svg.removeprefix('<svg xmlns="http://www.w3.org/2000/svg"')
    for unwanted in ("<style", "href", "<metadata", "<script", "nan", "inf", "e-0", "http"):
        assert unwanted not in bare
    ids = re.findall(r'\bid="([^"]*)"', picture.svg)
    family = "generations" if name.startswith("generations") else "sizes"
    assert len(ids) == 1
    assert re.fullmatch(rf"nv-{family}-[0-9a-f]{{8}}", ids[0])
    assert f'clip-path="url(#{ids[0]})"' in picture.svg
    assert ids[0] not in picture.layers[0]


@each_picture
def test_words_stay_on_the_sheet_and_are_large_enough(name: str) -> None:
    picture = PICTURES[name]()
    for element in tree(picture.svg).iter(f"{SVG}text"):
        assert_fits(element, picture.width, picture.height)


def test_points_lie_where_matplotlib_has_them(axes: Axes) -> None:
    from matplotlib.figure import Figure

    wide, tall = plot.WIDTH, axes.height
    figure = Figure((wide / 72, tall / 72), dpi=72)
    field = figure.add_axes(
        (axes.left / wide, 1 - axes.bottom / tall, (axes.right - axes.left) / wide,
         (axes.bottom - axes.top) / tall)
    )  # fmt: skip
    field.set(xscale="log", yscale="log" if axes.y.log else "linear")
    field.set(xlim=(axes.x.low, axes.x.high), ylim=(axes.y.low, axes.y.high))
    xs, ys = np.array([1e3, 4e4, 7e7, 1e10]), np.array([3.0, 5.0, 90.0, 640.0])
    truth = field.transData.transform(np.column_stack([xs, ys]))
    across, down = axes.at(xs, ys)
    assert across == pytest.approx(truth[:, 0])
    assert down == pytest.approx(tall - truth[:, 1])


def test_the_grid_of_the_frame_lies_on_the_ticks(axes: Axes) -> None:
    lines = re.findall(r'd="M ([\d.]+) ([\d.]+) L ([\d.]+) ([\d.]+) " style="[^"]*#d5dcd8',
                       plot.frame(axes)[0])  # fmt: skip
    upright = [float(x0) for x0, _, x1, _ in lines if x0 == x1]
    level = [float(y0) for _, y0, _, y1 in lines if y0 == y1]
    for scale, found in ((axes.x, upright), (axes.y, level)):
        ticks = [tick for tick, _ in scale.ticks]
        both = axes.at(ticks, [axes.y.high] * len(ticks)), axes.at([1e4] * len(ticks), ticks)
        wanted = both[0][0] if scale is axes.x else both[1][1]
        assert found == pytest.approx(wanted.tolist(), abs=1e-3)


def test_the_reader_s_own_settings_of_matplotlib_change_nothing(axes: Axes) -> None:
    import matplotlib

    before = plot.frame(axes)
    plot.frame.cache_clear()
    with matplotlib.rc_context({"axes.linewidth": 9, "savefig.dpi": 300, "svg.fonttype": "path"}):
        assert plot.frame(axes) == before
        assert matplotlib.rcParams["savefig.dpi"] == 300


def test_a_frame_is_rendered_once(axes: Axes, monkeypatch: pytest.MonkeyPatch) -> None:
    Plot(axes)
    monkeypatch.setattr(plot, "render", lambda axes: pytest.fail("rendered again"))
    Plot(axes_of(log=axes.y.log))


def test_curves_have_gaps_and_no_infinities(axes: Axes) -> None:
    sheet = Plot(axes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sheet.curve([1e4, 1e5, 1e6, 1e7, 1e8], [5, 50, np.nan, 0, np.inf], "red", name="one")
    d = re.search(r'd="([^"]*)"', sheet.marks[0])
    assert d
    assert re.sub(r"[-\d. ]", "", d[1]) == "MLML"
    assert all(abs(y) <= 2 * plot.WIDTH for _, y in pixels(d[1]))
    assert sheet.keys[0][0] == "one"


def test_marks_are_where_their_numbers_say(axes: Axes) -> None:
    sheet = Plot(axes)
    sheet.curve([1e5, 1e5], [axes.y.low, axes.y.high], "red", "4 4", 1.5)
    sheet.curve([axes.x.low, axes.x.high], [100, 100], "red", "4 4", 1.5)
    sheet.points([1e4, 1e6], [10, 100], "red", "square", hollow=True)
    picture = sheet.picture("title", "subtitle", "sentence", a=1)
    upright, level, dots = marks(picture)
    (left, _), (low, high) = axes.at([1e5, 1e6], [axes.y.low, axes.y.high])
    across, down = axes.at([1e4, 1e6], [10, 100])
    for found, wanted in (
        (upright, [(left, low), (left, high)]),
        (level, [(axes.left, down[1]), (axes.right, down[1])]),
        (dots, np.column_stack([across, down])),
    ):
        assert np.array(found) == pytest.approx(np.array(wanted), abs=0.06)
    assert picture.data == {"a": 1}


@pytest.mark.parametrize("marker", plot.MARKERS)
def test_markers_are_centred(marker: str) -> None:
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", plot.MARKERS[marker])]
    assert max(map(abs, numbers)) <= 12
    sheet = Plot(axes_of())
    sheet.points([1e6], [100], "red", marker)
    assert len(pixels(sheet.marks[0])) == 1


@pytest.mark.parametrize(
    ("low", "high", "binary", "ticks"),
    [
        (2, 60, False, [2, 5, 10, 20, 50]),
        (1, 1e6, False, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        (8, 2e13, False, [1e3, 1e6, 1e9, 1e12]),
        (1024, 2**14, True, [2**k for k in range(10, 15)]),
        (7, 2**34 + 1, True, [2**k for k in range(5, 35, 5)]),
    ],
)
def test_ticks_are_few_and_round(
    low: float, high: float, binary: bool, ticks: list[float]
) -> None:
    assert log_ticks(low, high, binary) == pytest.approx(ticks)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("most", [1e-7, 0.031, 1.0, 99.0, 3600.0, 4.8e11])
def test_the_axis_of_values_holds_them_and_stays(most: float, log: bool) -> None:
    scale = value_scale([most / 700, np.nan, 0, most], "y", log, str)
    assert scale.low <= most / 700 < most < scale.high <= 6 * most
    assert 3 <= len(scale.ticks) <= 12
    assert value_scale([most / 699.9, most * 0.9999], "y", log, str) == scale


def test_only_the_upper_layer_changes_with_the_data() -> None:
    moved = [Series(each.name, each.sizes, 0.98 * each.values) for each in models()]
    first, second = size_curves(models()), size_curves(moved)
    assert first.layers[0] == second.layers[0]
    assert first.layers[1] != second.layers[1]
    assert generations().layers[0] != generations(both_ways=False).layers[0]


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize("log", [True, False])
def test_each_generation_stands_at_its_year_and_its_rate(both_ways: bool, log: bool) -> None:
    picture = generations(both_ways, log)
    made = [row for row in catalog.nvlinks().values() if row.get("year")]
    way = "both_ways" if both_ways else "one_way"
    roads = [catalog.pcie(catalog.gpu(row.first_gpu).pcie).raw for row in made]
    assert picture.data["year"] == [row.year.value for row in made]
    assert picture.data["nvlink"] == [getattr(row.per_gpu, way) / 1e9 for row in made]
    assert picture.data["pcie"] == [getattr(road, way) / 1e9 for road in roads]
    for part, line in (("nvlink", "nvlink"), ("pcie", "pcie")):
        dots = marks(picture, stroke=style.WAYS[line].dark, stroke_width="1.5")
        found = [spots[0] for spots in dots]
        across, down = np.array(found).T
        years, values = np.array(picture.data["year"]), np.array(picture.data[part])
        shown = np.log10(values) if log else values
        assert np.corrcoef(across, years)[0, 1] == pytest.approx(1, abs=1e-6)
        slope, start = np.polyfit(shown, down, 1)
        assert slope < 0
        assert down == pytest.approx(start + slope * shown, abs=0.08)  # pixels
        hollow = marks(picture, stroke=style.WAYS[line].dark, fill=style.PAPER)
        assert [spots[0] for spots in hollow] == found[-1:]


def test_generations_tell_factors_ratios_and_doubt() -> None:
    shown = texts(generations())
    factors = [text for text in shown if text.startswith("\u00d7")]
    assert factors == ["\u00d71.875", "\u00d72", "\u00d71.5", "\u00d72", "\u00d72 ?"]
    ratios = [text for text in shown if re.match(r"[\d.]+\u00d7", text)]
    assert ratios == [f"{r}\u00d7" for r in ("5", "9.38", "9.38", "7.03", "14.1")] + [
        "14.1\u00d7 ?"
    ]
    one_way = texts(generations(both_ways=False))
    assert [text for text in one_way if re.match(r"[\d.]+\u00d7", text)] == ratios
    assert sum(text.endswith(" ?") for text in shown) == 4
    assert "NVLink and PCIe of one GPU, GB/s both ways" in shown
    assert "NVLink and PCIe of one GPU, GB/s one way" in one_way


def test_a_trend_starts_at_the_first_gpu_and_multiplies_each_year() -> None:
    picture = generations(log=True, trend=50)
    assert ">10,000<" in picture.svg  # 9,226 GB/s, of which the sentence tells, can be seen
    assert picture.data == generations(log=True).data
    (line,) = marks(picture, stroke=style.INK, fill="none")
    across, down = np.array(line).T
    assert np.corrcoef(across, down)[0, 1] == pytest.approx(-1, abs=1e-4)  # straight on this scale
    first = marks(picture, stroke=style.WAYS["nvlink"].dark, stroke_width="1.5")[0][0]
    assert line[0] == pytest.approx(first, abs=0.2)
    assert f"{160 * 1.5**8:,.0f} in 2024" in picture.description
    assert f"stand at {160 * 1.5**10:,.0f}; 3,600" in picture.description


@pytest.mark.parametrize("quantity", ["busbw", "time"])
@pytest.mark.parametrize("log", [True, False])
def test_curves_and_points_are_drawn_from_their_numbers(quantity: str, log: bool) -> None:
    curves, points = models(quantity), measured(quantity)
    picture = size_curves(curves, points, quantity, log=log)
    drawn = [marks(picture, stroke=each.way.fill, fill="none")[0] for each in curves]
    dots = marks(picture, stroke=points[0].way.dark)[0]
    found = np.array([*np.concatenate(drawn), *dots])
    given = [np.concatenate([getattr(each, part) for each in [*curves, *points]])
             for part in ("sizes", "values")]  # fmt: skip
    across, down = np.log(given[0]), np.log(given[1]) if log else given[1]
    assert np.corrcoef(found[:, 0], across)[0, 1] == pytest.approx(1, abs=1e-6)
    assert np.corrcoef(found[:, 1], down)[0, 1] == pytest.approx(-1, abs=1e-5)
    assert f"Sources: {SOURCE}." in texts(picture)


def test_units_of_the_axes_follow_the_data() -> None:
    assert {"1 KiB", "32 KiB", "1 MiB", "1 GiB"} <= set(texts(PICTURES["busbw"]()))
    assert {"1 kB", "1 MB", "1 GB"} <= set(texts(PICTURES["decimal"]()))
    assert "bus bandwidth of one GPU, GB/s one way" in texts(PICTURES["busbw"]())
    assert {"100 \u00b5s", "10 ms"} <= set(texts(PICTURES["time"]()))


def test_the_winner_is_found_at_every_size() -> None:
    up, down = Series("up", [1, 1e6], [1, 1e6]), Series("down", [1, 1e6], [1e3, 1e3])
    for better, names in ((1, ["down", "up"]), (-1, ["up", "down"])):
        parts = winners([up, down], better)
        assert [winner.name for winner, *_ in parts] == names
        assert parts[0][2] == pytest.approx(1e3, rel=0.01)
        assert (parts[0][1], parts[-1][2]) == pytest.approx((1, 1e6))
    assert [part[0].name for part in winners([up, up], 1)] == ["up"]
    short = Series("short", [10, 100], [1e9, 1e9])
    assert [w.name for w, *_ in winners([down, short], 1)] == ["down", "short", "down"]
    broken = Series("broken", [1, 1e6], [np.nan, np.nan])
    assert [w.name for w, *_ in winners([broken, down], 1)] == ["down"]


def test_the_winner_is_named_in_the_title() -> None:
    picture = size_curves(models())
    assert [name for name, *_ in picture.data["winners"]] == ["Tree", "NVLS"]
    said = r"Of the lines Tree is the fastest up to [\d.]+ MiB, NVLS above"
    assert re.search(said, " ".join(texts(picture)))
    up, down = Series("up", [1, 1e6], [1, 1e6]), Series("down", [1, 1e6], [1e3, 1e3])
    short = Series("short", [10, 100], [1e9, 1e9])
    told = size_curves([up, down, short]).description
    assert told.startswith("The fastest: down up to 10 B, short up to 100 B, down up to 1 kB, up")


def test_matplotlib_waits_until_a_plot_is_asked_for() -> None:
    code = "import json, sys, nvlearn.figures; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "matplotlib" not in json.loads(run.stdout)
