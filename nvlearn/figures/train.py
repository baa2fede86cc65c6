"""The four factors of the bandwidth formula as a maglev line."""

from collections.abc import Mapping
from itertools import product

from nvlearn import formulas
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, pen
from nvlearn.i18n import words
from nvlearn.units import format_rate

WIDTH, HEIGHT = 960.0, 560.0
LINE = style.WAYS["nvlink"]
LEFT, RIGHT = 136.0, 824.0
TOP, BOTTOM = 214.0, 424.0


def bandwidth_train(lanes: int, lane_rate: float, links: int, directions: int = 2) -> Picture:
    """Draw lanes, rate, links and directions as trains on a line, the product under them.

    `lane_rate` is the data rate of one lane in bits per second.
    """
    per_link, one_way, total = (
        formulas.link_bandwidth(lanes, lane_rate, some, ways)
        for some, ways in ((1, 1), (links, 1), (links, directions)))
    sheet, both = Drawing(WIDTH, HEIGHT), directions == 2
    told = {
        "lanes": counted("lane", lanes), "links": counted("link", links),
        "rate": f"{lane_rate / 1e9:.6g} Gb/s",  # without a direction, because a lane has only one
        "per_link": format_rate(per_link), "one_way": format_rate(one_way),
        "both_ways": format_rate(one_way, both_ways=True)}
    ways = "both" if both else "single"
    sheet.heading(words(f"train.title.{ways}", **told), words(f"train.subtitle.{ways}"))
    sheet.rect(24, 76, 912, 112, style.GROUND, rx=10)
    sheet.text(40, 99, words("train.close_up"), style.SMALL, style.MUTED, bold=True)
    sheet.text(920, 99, words("train.each_lane", **told), style.SMALL, LINE.dark, "end", bold=True)
    for y, forth in ((124, True), (163, False)) if both else ((144, True),):
        big_train(sheet, y, lanes, forth)
    bundle(sheet, lanes, links, directions)
    chain(sheet, told, ways)
    return sheet.picture(
        words(f"train.sentence.{ways}", **told), one_way=one_way, total=total, links=links)


def counted(thing: str, number: int) -> str:
    """Return a number with its noun."""
    return words(f"count.{thing}.{'one' if number == 1 else 'many'}", number=number)


def big_train(sheet: Drawing, y: float, lanes: int, forth: bool) -> None:
    """Draw one train, its nose in the direction of travel, every lane a numbered car."""
    pitch = min(112.0, 640.0 / lanes)
    start = 480 - lanes * pitch / 2
    sheet.path(pen("M40 {}H920", y + 15), stroke=LINE.fill, stroke_width=3)
    paint, ink = (LINE.dark, style.PAPER) if forth else (LINE.tint, LINE.dark)
    sheet.path(cars(start, y, pitch, pitch - 4, 24, lanes, forth), paint, stroke=LINE.dark,
               stroke_width=1.5)
    for lane in range(lanes):
        label = words("train.lane", number=lane + 1) if pitch > 90 else str(lane + 1)
        sheet.text(start + lane * pitch + pitch / 2 - 2, y + 4, label, style.SMALL, ink, "middle",
                   bold=True)
    tail, step = (66, 22.0) if forth else (900, -22.0)
    arrow = pen("M{}h{}m{} -6l{} 6l{} 6", complex(tail, y), step, -step / 3, step / 3, -step / 3)
    sheet.path(arrow, stroke=LINE.dark, stroke_width=2.5)


def cars(x: float, y: float, pitch: float, car: float, height: float, lanes: int,
         forth: bool) -> str:
    """Return the path of a train: a car for each lane, and a nose in front of the first."""
    front, nose = (x + lanes * pitch, height) if forth else (x - pitch + car, -height)
    tip = pen("M{}q{} 0 {} {}h{}z", complex(front, y - height / 2), nose, nose, height, -nose)
    return tip + "".join(pen("M{}h{}v{}h{}z", complex(x + lane * pitch, y - height / 2), car,
                             height, -car) for lane in range(lanes))


def bundle(sheet: Drawing, lanes: int, links: int, directions: int) -> None:
    """Draw every link of the GPU as a track with a train in each direction."""
    pitch = min(34.0, (BOTTOM - TOP) / links)
    top, height = (TOP + BOTTOM - links * pitch) / 2, min(13.0, pitch * 0.6 / directions)
    wide = min(max(24.0, 3 * height), 400.0 / lanes)
    free = RIGHT - LEFT - 40 - lanes * wide
    for share, forth in ((0.3, True), (0.7, False))[:directions]:
        ys = [top + (link + share) * pitch for link in range(links)]
        rails = "".join(pen("M{}H{}", complex(LEFT, y), RIGHT) for y in ys)
        sheet.path(rails, stroke=LINE.fill, stroke_width=0.8, opacity=0.7)
        # The golden ratio spreads the trains on the line.
        trains = (cars(LEFT + 20 + (link * 0.618 + share) % 1 * free, y, wide, wide * 0.84, height,
                       lanes, forth) for link, y in enumerate(ys))
        sheet.path("".join(trains), LINE.dark if forth else LINE.fill)
    factory(sheet, 24, words("train.gpu"), words("train.factory"))
    factory(sheet, RIGHT, words("train.other"), words("train.other_place"))
    for count in sorted({*range(6, links, 6), links}):
        y = top + (count - 0.5) * pitch + 4
        sheet.text(LEFT - 5, y, str(count), style.TINY, style.PAPER, "end", bold=True)


def factory(sheet: Drawing, x: float, name: str, place: str) -> None:
    """Draw a building with a saw-tooth roof: a GPU, or what its line leads to."""
    y, height = TOP + 18, BOTTOM - TOP - 8
    roof = "l0 -18l37.33 18" * 3
    sheet.path(pen("M{}" + roof + "v{}h-112z", complex(x, y), height), style.FACTORY)
    for row, column in product(range(3), range(3)):
        sheet.rect(x + 21 + column * 26, y + 22 + row * 26, 18, 12, style.WINDOW, rx=2)
    sheet.text(x + 56, y + 130, name, style.BODY, style.PAPER, "middle", bold=True)
    sheet.text(x + 56, y + 150, place, style.TINY, style.PAPER, "middle")


def chain(sheet: Drawing, told: Mapping[str, str], ways: str) -> None:
    """Print the running product: one link, all links one way, the advertised total."""
    for column, step in enumerate(("link", "links", f"directions_{ways}")):
        x, strong = 24 + column * 312.0, column == 2
        sheet.rect(x, 448, 288, 88, LINE.dark if strong else LINE.tint, rx=10)
        paint = style.PAPER if strong else LINE.dark
        for y, size, part in ((470, style.BODY, "factors"), (500, 22.0, "result"),
                              (523, style.BODY, "note")):
            line = words(f"train.chain.{step}.{part}", **told)
            sheet.text(x + 144, y, line, size, paint, "middle", bold=part == "result")
        if column:
            sheet.path(pen("M{} 482l12 10l-12 10", x - 19), stroke=LINE.dark, stroke_width=3)
