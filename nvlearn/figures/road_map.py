"""The road map at the head of each lesson: thirteen stations on one line."""

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing
from nvlearn.figures.picture import Picture
from nvlearn.i18n import words

LESSONS = 13
WIDTH, HEIGHT, RAIL, FIRST, STEP = 960.0, 104.0, 52.0, 52.0, 71.3


def road_map(here: int) -> Picture:
    """Draw the course as a line with lesson `here` (1 to 13) marked."""
    if here not in range(1, LESSONS + 1):
        raise ValueError(f"There is no lesson {here}: the road map has lessons 1 to {LESSONS}.")
    line = style.WAYS["nvlink"]
    sheet = Drawing(WIDTH, HEIGHT)
    end = FIRST + (LESSONS - 1) * STEP
    now = FIRST + (here - 1) * STEP
    sheet.line(FIRST, RAIL, end, RAIL, line.tint, stroke_width=8, stroke_linecap="round")
    sheet.line(FIRST, RAIL, now, RAIL, line.fill, stroke_width=8, stroke_linecap="round")
    for lesson in range(1, LESSONS + 1):
        station(sheet, lesson, here)
    name = words(f"road_map.lesson_{here:02d}")
    return sheet.picture(words("road_map.sentence", here=here, last=LESSONS, name=name), here=here)


def station(sheet: Drawing, lesson: int, here: int) -> None:
    """Draw one stop, its name above the line or below it by turns."""
    x, now, line = FIRST + (lesson - 1) * STEP, lesson == here, style.WAYS["nvlink"]
    passed = lesson <= here
    sheet.circle(
        x, RAIL, 14 if now else 10, line.dark if now else style.PAPER,
        stroke=line.dark if passed else style.MUTED, stroke_width=2)
    ink = style.PAPER if now else style.INK
    sheet.text(x, RAIL + 4, str(lesson), style.TINY, ink, "middle", bold=now)
    name, y = words(f"road_map.lesson_{lesson:02d}"), RAIL - 24 if lesson % 2 else RAIL + 35
    sheet.text(x, y, name, style.SMALL, line.dark if now else style.MUTED, "middle", bold=now)
