"""The four factors of the bandwidth formula as a maglev line."""

import numpy as np

from nvlearn import formulas
from nvlearn.figures import style
from nvlearn.figures.city import factory
from nvlearn.figures.drawing import Drawing, Picture, boxes, path
from nvlearn.i18n import words
from nvlearn.units import format_rate

LINE = style.WAYS["nvlink"]
LEFT, RIGHT, TOP, BOTTOM = 150.0, 810.0, 212.0, 428.0  # of the field of tracks


def bandwidth_train(lanes: int, lane_rate: float, links: int, directions: int = 2) -> Picture:
    """Draw lanes, rate, links and directions as trains on a line, the product under them.

    `lane_rate` is the data rate of one lane in bits per second.
    """
    total = formulas.link_bandwidth(lanes, lane_rate, links, directions)
    sheet, one_way = Drawing(960, 560), total / directions
    told = {
        "lanes": counted("lane", lanes), "links": counted("link", links),
        "rate": f"{lane_rate / 1e9:.6g} Gb/s",  # without a direction, because a lane has only one
        "per_link": format_rate(one_way / links), "one_way": format_rate(one_way),
        "both_ways": format_rate(one_way, both_ways=True)}
    sheet.heading(words(f"train.title.{directions}", **told),
                  words(f"train.subtitle.{directions}"))
    sheet.rect(24, 76, 912, 112, style.GROUND, rx=10)
    sheet.text(40, 99, words("train.close_up", **told), style.SMALL, style.MUTED, bold=True)
    for y, forth in ((127, True), (166, False))[:directions]:
        close_up(sheet, y, lanes, forth)
    tracks(sheet, links, directions)
    chain(sheet, told, directions)
    return sheet.picture(
        words(f"train.sentence.{directions}", **told), one_way=one_way, total=total, links=links)


def counted(thing: str, number: int) -> str:
    """Return a number with its noun."""
    return words(f"count.{thing}.{'one' if number == 1 else 'many'}", number=number)


def close_up(sheet: Drawing, y: float, lanes: int, forth: bool) -> None:
    """Draw one train, its nose in the direction of travel, every lane a numbered car."""
    pitch, ahead = min(112.0, 640.0 / lanes), 1 if forth else -1
    lefts = 482 + (np.arange(lanes) - lanes / 2) * pitch
    paint, ink = (LINE.dark, style.PAPER) if forth else (LINE.tint, LINE.dark)
    sheet.path(path((complex(40, y + 15), complex(920, y + 15))), stroke=LINE.fill, stroke_width=3)
    front = complex(480 + ahead * lanes * pitch / 2, y)
    nose = path((front - 12j, front + 22 * ahead, front + 12j))
    sheet.path(f"{boxes(lefts, y - 12, pitch - 4, 24)}{nose}z", paint, stroke=LINE.dark)
    for lane, left in enumerate(lefts.tolist(), 1):
        sheet.text(left + pitch / 2 - 2, y + 4, str(lane), style.SMALL, ink, "middle", bold=True)


def tracks(sheet: Drawing, links: int, directions: int) -> None:
    """Draw every link of the GPU as a track in each direction, and what they lead to."""
    pitch = min(34.0, (BOTTOM - TOP) / links)
    wide = min(8.0, 0.24 * pitch)
    tops = (TOP + BOTTOM - links * pitch) / 2 + np.arange(links) * pitch
    for share, start, end, paint in ((0.28, LEFT, RIGHT, LINE.dark),
                                     (0.72, RIGHT, LEFT, LINE.fill))[:directions]:
        head = wide if end > start else -wide
        tips = [complex(end, top + share * pitch) for top in tops.tolist()]
        ways = [path((complex(start, at.imag), at - 3 * head, at - 3 * head - wide * 1j, at,
                      at - 3 * head + wide * 1j, at - 3 * head)) for at in tips]
        sheet.path("".join(ways), paint, stroke=paint, stroke_width=wide / 2)
    for x, place in ((80, "gpu"), (880, "other")):
        sheet.path(factory(complex(x, 338), 56 + 90j), style.FACTORY)
        sheet.text(x, 362, words(f"train.{place}"), style.SMALL, style.PAPER, "middle", bold=True)


def chain(sheet: Drawing, told: dict[str, str], directions: int) -> None:
    """Print the running product: one link, all links one way, the advertised total."""
    looks = (LINE.tint, LINE.dark), (LINE.tint, LINE.dark), (LINE.dark, style.PAPER)
    steps = "link", "links", f"directions_{directions}"
    for x, step, (fill, ink) in zip((24, 336, 648), steps, looks, strict=True):
        sheet.rect(x, 448, 288, 88, fill, rx=10)
        for y, size, part in ((470, style.BODY, "factors"), (500, 22.0, "result"),
                              (523, style.BODY, "note")):
            line = words(f"train.chain.{step}.{part}", **told)
            sheet.text(x + 144, y, line, size, ink, "middle", bold=part == "result")
