"""The road map at the head of each lesson: thirteen stations on one line."""

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, pen
from nvlearn.i18n import words

LESSONS = 13
WIDTH, HEIGHT, RAIL, FIRST, STEP = 960.0, 104.0, 52.0, 52.0, 71.3


def road_map(here: int) -> Picture:
    """Draw the course as a line with lesson `here` (1 to 13) marked."""
    if here not in range(1, LESSONS + 1):
        raise ValueError(f"There is no lesson {here}: the road map has lessons 1 to {LESSONS}.")
    sheet, line = Drawing(WIDTH, HEIGHT), style.WAYS["nvlink"]
    stops = [FIRST + lesson * STEP for lesson in range(LESSONS)]
    names = [words(f"road_map.lesson_{lesson:02d}") for lesson in range(1, LESSONS + 1)]
    for end, paint in ((stops[-1], line.tint), (stops[here - 1], line.fill)):
        sheet.path(pen("M{}H{}", complex(FIRST, RAIL), end), stroke=paint, stroke_width=8)
    for lesson, (x, name) in enumerate(zip(stops, names, strict=True), 1):
        now, edge = lesson == here, line.dark if lesson <= here else style.MUTED
        radius, fill, ink = (14, line.dark, style.PAPER) if now else (10, style.PAPER, style.INK)
        sheet.add("circle", cx=x, cy=RAIL, r=radius, fill=fill, stroke=edge, stroke_width=2)
        sheet.text(x, RAIL + 4, str(lesson), style.TINY, ink, "middle", bold=now)
        # Names stand above the line and below it by turns.
        y, ink = RAIL - 24 if lesson % 2 else RAIL + 35, line.dark if now else style.MUTED
        sheet.text(x, y, name, style.SMALL, ink, "middle", bold=now)
    told = words("road_map.sentence", here=here, last=LESSONS, name=names[here - 1])
    return sheet.picture(told, here=here)
