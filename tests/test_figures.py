"""Pictures: well formed, deterministic, readable, and true to their numbers."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from picture_checks import SVG, assert_fits, contrast
from road_maps import road_map

from nvlearn import catalog, figures
from nvlearn.figures import Picture, bandwidth_train, drawing, step_timeline, style
from nvlearn.training import demo_rows

PICTURES = {
    "train": lambda: bandwidth_train(2, 100e9, 18),
    "train, one": lambda: bandwidth_train(1, 28.125e9, 1, 1),
    "train, most": lambda: bandwidth_train(16, 250e9, 36),
    "step": lambda: step_timeline(demo_rows()),
    "step, seen": lambda: step_timeline(demo_rows(compute=0.05), "overlapped"),
    "step, large": lambda: step_timeline(demo_rows(parameters=1e12, gpus=72), "in_turn"),
    "road map": lambda: road_map(2),
}
each_picture = pytest.mark.parametrize("name", PICTURES)


def texts(picture: Picture) -> list[str]:
    root = ElementTree.fromstring(picture.svg)
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@each_picture
def test_a_picture_is_well_formed_and_the_same_each_time(name: str) -> None:
    picture = PICTURES[name]()
    root = ElementTree.fromstring(picture.svg)
    assert root.attrib["aria-label"] == picture.description
    assert root.attrib["viewBox"] == f"0 0 {picture.width:g} {picture.height:g}"
    assert PICTURES[name]().svg == picture.svg


@each_picture
def test_a_picture_needs_no_ids_no_scripts_and_nothing_from_outside(name: str) -> None:
    svg = PICTURES[name]().svg
    for unwanted in (" id=", "<script", "<style", "href", "<animate", "e-0", "nan", "inf"):
        assert unwanted not in svg.removeprefix('<svg xmlns="http://www.w3.org/2000/svg"')


@each_picture
def test_words_stay_on_the_sheet_by_a_cautious_estimate(name: str) -> None:
    picture = PICTURES[name]()
    for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text"):
        assert_fits(element, picture.width, picture.height)


@each_picture
def test_the_still_form(name: str, tmp_path: Path) -> None:
    picture = PICTURES[name]()
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.description
    found = re.fullmatch(
        r'<figure><img src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)">'
        r"<figcaption[^>]*>(.+)</figcaption></figure>",
        bundle["text/html"],
    )
    assert found
    assert base64.b64decode(found[1]).decode() == picture.svg
    assert picture.save(tmp_path / "a.svg").read_text(encoding="utf-8") == picture.svg


def test_text_is_escaped_everywhere() -> None:
    sheet = drawing.Drawing(10, 10)
    sheet.text(1, 1, 'a<b & "c"')
    sheet.rect(0, 0, 1, 1, 'x"<')
    picture = sheet.picture('1 < 2 & "3"', a=1)
    ElementTree.fromstring(picture.svg)
    assert texts(picture) == ['a<b & "c"']
    assert "&lt;" in picture.html()
    assert picture.data == {"a": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1 / 3, "0.33"), (-0.001, "0"), (12.5, "12.5"), (1e6, "1000000")],
)
def test_numbers_are_printed_one_way(value: float, text: str) -> None:
    assert drawing.number(value) == text


@pytest.mark.parametrize("way", style.WAYS.values())
def test_text_has_contrast(way: style.Way) -> None:
    assert contrast(way.dark, style.PAPER) >= 4.5
    assert contrast(way.dark, way.tint) >= 4.5
    for ground in (style.PAPER, style.GROUND):
        assert contrast(style.INK, ground) >= 4.5
        assert contrast(style.MUTED, ground) >= 4.5
    assert contrast(style.FACTORY, style.PAPER) >= 4.5


@pytest.mark.parametrize("lanes", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("links", [1, 4, 6, 7, 18, 36])
@pytest.mark.parametrize("directions", [1, 2])
def test_the_train_has_a_car_for_each_lane_and_a_track_for_each_link(
    lanes: int, links: int, directions: int
) -> None:
    picture = bandwidth_train(lanes, 100e9, links, directions)
    root = ElementTree.fromstring(picture.svg)
    lines = [path.attrib["d"] for path in root.iter(f"{SVG}path")]
    assert [d.count("v") for d in lines if "v24" in d] == [lanes] * directions  # one link
    tracks = [d for d in lines if d.startswith(("M150 ", "M810 "))]
    assert [d.count("M") for d in tracks] == [links] * directions
    for lane in range(1, lanes + 1):
        assert texts(picture).count(str(lane)) == directions
    assert picture.data["one_way"] == lanes * 100e9 / 8 * links
    assert picture.data["total"] == picture.data["one_way"] * directions


def test_the_chain_under_the_train() -> None:
    shown = texts(bandwidth_train(2, 100e9, 18))
    for words in ("2 lanes {} 100 Gb/s \u00f7 8 bits", "25 GB/s one way", "{} 18 links",
                  "450 GB/s one way", "{} 2 directions", "900 GB/s both ways"):  # fmt: skip
        assert words.format("\u00d7") in shown


@pytest.mark.parametrize(("lanes", "rate", "links"), [(0, 1e9, 1), (1, 0, 1), (1, 1e9, 0)])
def test_a_train_of_nothing_is_refused(lanes: int, rate: float, links: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        bandwidth_train(lanes, rate, links)


def test_the_timeline_says_whether_the_link_shows() -> None:
    hidden, seen = step_timeline(demo_rows()), step_timeline(demo_rows(compute=0.2))
    assert texts(hidden)[0].startswith("Overlapped, every step takes 0.800 s")
    assert "links show (2 of 8)" in texts(seen)[0]
    assert hidden.height == seen.height
    assert "0.854 s  ·  6.4% waiting" in texts(hidden)


def test_bars_are_as_long_as_their_times() -> None:
    rows = demo_rows()
    root = ElementTree.fromstring(step_timeline(rows, "in_turn").svg)
    hatched = [
        (float(r.attrib["x"]), float(r.attrib["width"]))
        for r in root.iter(f"{SVG}rect")
        if r.attrib["fill"] == style.PAPER and float(r.attrib.get("y", 0)) > 100
    ]
    longest = max(row.in_turn for row in rows)
    for (x, width), row in zip(hatched, rows, strict=True):
        assert width / 480 == pytest.approx(row.communication / longest, abs=1e-4)
        assert (x - 292) / 480 == pytest.approx(row.compute / longest, abs=1e-4)


@pytest.mark.parametrize("longest", [0.003, 0.1, 0.766, 1.566, 5, 16.1, 99, 1234.0])
def test_ticks_are_few_and_round(longest: float) -> None:
    from nvlearn.figures.step import tick_step

    assert 4 <= longest / tick_step(longest) <= 10.1


@pytest.mark.parametrize("here", range(1, 14))
def test_the_road_map_marks_one_of_thirteen_stations(here: int) -> None:
    picture = road_map(here)
    assert len(picture.svg) < 8000
    stations = list(ElementTree.fromstring(picture.svg).iter(f"{SVG}circle"))
    assert len(stations) == 13
    assert [i for i, e in enumerate(stations, 1) if e.attrib["r"] == "14"] == [here]
    assert f"lesson {here} of 13" in picture.description


@pytest.mark.parametrize("here", [0, 14, "2"])
def test_the_road_map_ends(here: int) -> None:
    with pytest.raises(ValueError, match="1 to 13"):
        road_map(here)


def test_a_table_is_the_same_in_text_and_html() -> None:
    made = figures.table({"one": catalog.nvlink("1.0")}, "<name>", per_link="a link", odd="odd")
    assert repr(made) == "<name>  a link           odd\none     20 GB/s one way  -"
    html = made._repr_html_().replace(' style="text-align: left"', "")
    assert "<th>&lt;name&gt;</th><th>a link</th><th>odd</th>" in html
    assert "<td>one</td><td>20 GB/s one way</td><td>-</td>" in html


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: figures.bandwidth_train(2, 100e9, 18, 3), "directions"),
        (lambda: figures.step_timeline([]), "one interconnect or more"),
        (lambda: figures.size_curves([]), "Size curves need"),
        (lambda: figures.size_curves([figures.Series("x", [1, 2], [0, float("nan")])]), "above 0"),
        (lambda: figures.size_curves([figures.Series("x", [1, 2], [1, 2])], (), "speed"), "busbw"),
        (lambda: figures.matrix([[0, float("inf")], [1, 0]], "links"), "no infinite values"),
    ],
)
def test_what_cannot_be_drawn_gets_a_sentence(wrong, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        wrong()
