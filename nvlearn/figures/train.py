"""The four factors of the bandwidth formula as a maglev line."""

from collections.abc import Mapping

from nvlearn import formulas
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Value, number, run_of_cars, text_width
from nvlearn.figures.picture import Picture
from nvlearn.i18n import words
from nvlearn.units import format_rate

WIDTH, HEIGHT = 960.0, 560.0
LINE = style.WAYS["nvlink"]
LEFT, RIGHT = 136.0, 824.0
TOP, BOTTOM = 214.0, 424.0
GROUP, GROUP_GAP = 6, 5.0


def bandwidth_train(lanes: int, lane_rate: float, links: int, directions: int = 2) -> Picture:
    """Draw lanes, rate, links and directions as trains on a line, the product under them.

    `lane_rate` is the data rate of one lane in bits per second.
    """
    per_link = formulas.link_bandwidth(lanes, lane_rate, 1, directions=1)
    one_way = formulas.link_bandwidth(lanes, lane_rate, links, directions=1)
    total = formulas.link_bandwidth(lanes, lane_rate, links, directions)
    sheet = Drawing(WIDTH, HEIGHT)
    told = {
        "lanes": counted("lane", lanes), "links": counted("link", links),
        "rate": gigabits(lane_rate),
        "per_link": format_rate(per_link), "one_way": format_rate(one_way),
        "both_ways": format_rate(one_way, both_ways=True)}
    ways = "both" if directions == 2 else "single"
    sheet.heading(words(f"train.title.{ways}", **told), words(f"train.subtitle.{ways}"))
    close_up(sheet, lanes, lane_rate, directions)
    bundle(sheet, lanes, links, directions)
    chain(sheet, told, ways)
    return sheet.picture(
        words(f"train.sentence.{ways}", **told),
        per_link=per_link, one_way=one_way, total=total, lanes=lanes, links=links)


def gigabits(rate: float) -> str:
    """Return a lane's rate as a sign shows it: no direction, because a lane has only one."""
    return f"{rate / 1e9:.6g} Gb/s"


def counted(thing: str, number: int) -> str:
    """Return a number with its noun."""
    return words(f"count.{thing}.{'one' if number == 1 else 'many'}", number=number)


def close_up(sheet: Drawing, lanes: int, lane_rate: float, directions: int) -> None:
    """Draw one link large enough to count its powered cars."""
    sheet.rect(24, 76, 912, 112, style.GROUND, rx=10)
    sheet.text(40, 99, words("train.close_up"), style.SMALL, style.MUTED, bold=True)
    sign = words("train.each_lane", rate=gigabits(lane_rate))
    width = text_width(sign, style.SMALL, bold=True) + 20
    sheet.rect(920 - width, 84, width, 22, style.PAPER, rx=11, stroke=LINE.dark, stroke_width=1.5)
    sheet.text(920 - width / 2, 99, sign, style.SMALL, LINE.dark, "middle", bold=True)
    big_train(sheet, 124 if directions == 2 else 144, lanes, forth=True)
    if directions == 2:
        big_train(sheet, 163, lanes, forth=False)


def big_train(sheet: Drawing, y: float, lanes: int, forth: bool) -> None:
    """Draw one train, its nose in the direction of travel, every lane a numbered car."""
    pitch = min(112.0, 640.0 / lanes)
    start = 480 - lanes * pitch / 2
    sheet.line(40, y + 15, 920, y + 15, LINE.fill, stroke_width=3)
    paint, ink = (LINE.dark, style.PAPER) if forth else (LINE.tint, LINE.dark)
    outline: dict[str, Value] = {"stroke": LINE.dark, "stroke_width": 1.5}
    nose, tail = (start + lanes * pitch, 34.0) if forth else (start - 4, -34.0)
    sheet.path(
        f"M{number(nose)} {number(y - 13)}q{number(tail)} 2 {number(tail)} 24h{number(-tail)}z",
        paint, **outline)
    for lane in range(lanes):
        x = start + lane * pitch
        sheet.rect(x, y - 13, pitch - 4, 24, paint, rx=3, **outline)
        roomy = pitch > 90
        label = words("train.lane", number=lane + 1) if roomy else str(lane + 1)
        sheet.text(x + pitch / 2 - 2, y + 4, label, style.SMALL, ink, "middle", bold=True)
    arrow(sheet, 66 if forth else 900, y, forth)


def arrow(sheet: Drawing, x: float, y: float, forth: bool) -> None:
    """Draw the sign of a direction of travel."""
    step = 22.0 if forth else -22.0
    sheet.path(
        f"M{number(x)} {number(y)}h{number(step)}m{number(-step / 3)} -6l{number(step / 3)} 6"
        f"l{number(-step / 3)} 6",
        stroke=LINE.dark, stroke_width=2.5)


def bundle(sheet: Drawing, lanes: int, links: int, directions: int) -> None:
    """Draw every link of the GPU as a track with a train in each direction."""
    gaps = (links - 1) // GROUP * GROUP_GAP
    pitch = min(34.0, (BOTTOM - TOP - gaps) / links)
    top = (TOP + BOTTOM - gaps - links * pitch) / 2
    rails, forth, back, counts = [], [], [], []
    for link in range(links):
        y = top + link * pitch + link // GROUP * GROUP_GAP
        lines = [y + pitch / 2] if directions == 1 else [y + pitch * 0.3, y + pitch * 0.7]
        rails += [f"M{number(LEFT)} {number(at)}H{number(RIGHT)}" for at in lines]
        height = min(13.0, pitch * (0.32 if directions == 2 else 0.6))
        forth.append(small_train(lines[0], height, lanes, (link * 0.618 + 0.31) % 1, True))
        if directions == 2:
            back.append(small_train(lines[1], height, lanes, (link * 0.618 + 0.76) % 1, False))
        if (link + 1) % GROUP == 0 or link + 1 == links:
            counts.append((y + pitch / 2 + 4, str(link + 1)))
    sheet.path("".join(rails), stroke=LINE.fill, stroke_width=0.8, opacity=0.7)
    sheet.path("".join(forth), LINE.dark)
    sheet.path("".join(back), LINE.fill)
    factory(sheet, 24, words("train.gpu"), words("train.factory"))
    factory(sheet, RIGHT, words("train.other"), words("train.other_place"))
    for y, count in counts:
        sheet.text(LEFT - 5, y, count, style.TINY, style.PAPER, "end", bold=True)


def small_train(y: float, height: float, lanes: int, shift: float, forth: bool) -> str:
    """Return the path of one train of the bundle; `shift` (0 to 1) spreads trains on the line."""
    pitch = min(max(24.0, 3 * height), 400.0 / lanes)
    length, car = lanes * pitch, pitch * 0.84
    x = LEFT + 20 + shift * (RIGHT - LEFT - 40 - length)
    front, nose = (x + length, height) if forth else (x - pitch + car, -height)
    top = y - height / 2
    tip = f"M{number(front)} {number(top)}l{number(nose)} {number(height)}h{number(-nose)}z"
    return run_of_cars(x, top, car, height, pitch, lanes) + tip


def factory(sheet: Drawing, x: float, name: str, place: str) -> None:
    """Draw a building with a saw-tooth roof: a GPU, or what its line leads to."""
    y, width, height = TOP + 18, 112.0, BOTTOM - TOP - 8
    roof = "".join(f"l0 -18l{number(width / 3)} 18" for _ in range(3))
    sheet.path(f"M{number(x)} {number(y)}{roof}v{number(height)}h{number(-width)}z", style.FACTORY)
    for row in range(3):
        for column in range(3):
            sheet.rect(x + 21 + column * 26, y + 22 + row * 26, 18, 12, style.WINDOW, rx=2)
    sheet.text(x + width / 2, y + 130, name, style.BODY, style.PAPER, "middle", bold=True)
    sheet.text(x + width / 2, y + 150, place, style.TINY, style.PAPER, "middle")


def chain(sheet: Drawing, told: Mapping[str, str], ways: str) -> None:
    """Print the running product: one link, all links one way, the advertised total."""
    cards = (("link", "per_link"), ("links", "one_way"), (f"directions_{ways}", "both_ways"))
    for column, (step, _) in enumerate(cards):
        x, width = 24 + column * 312.0, 288.0
        strong = column == 2
        sheet.rect(x, 448, width, 88, LINE.dark if strong else LINE.tint, rx=10)
        paint = style.PAPER if strong else LINE.dark
        lines = zip((470, 500, 523), ("factors", "result", "note"), strict=True)
        for y, part in lines:
            size = 22.0 if part == "result" else style.BODY
            line = words(f"train.chain.{step}.{part}", **told)
            sheet.text(x + width / 2, y, line, size, paint, "middle", bold=part == "result")
        if column:
            sheet.path(f"M{number(x - 19)} 482l12 10l-12 10", stroke=LINE.dark, stroke_width=3)
