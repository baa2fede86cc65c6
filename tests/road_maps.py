"""Draw the road map into the title of each lesson: ``python tests/road_maps.py``.

JupyterLab shows attachments of raster pictures only, so the drawing is made a PNG by Chromium.
"""

from __future__ import annotations

import base64
import sys

import lesson_frame as frame
import notebook_form as form

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, path
from nvlearn.i18n import words

NAME = "road_map.png"
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
        sheet.path(path((complex(FIRST, RAIL), complex(end, RAIL))), stroke=paint, stroke_width=8)
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


def png(lesson: int) -> str:
    """Return the road map of a lesson as base64 of a PNG, at twice its size."""
    from browser import lab  # the drawing itself needs no browser

    picture = road_map(lesson)
    size = {"width": int(picture.width), "height": int(picture.height)}
    with lab.browser() as running:
        page = running.new_page(viewport=size, device_scale_factor=2)
        page.set_content(f"<style>body {{ margin: 0 }}</style>{picture.svg}")
        return base64.b64encode(page.screenshot()).decode()


def main() -> int:
    """Put the picture of each lesson into its title cell."""
    for file in form.notebooks():
        if hit := frame.LESSON.fullmatch(file.name):
            notebook = form.read(file)
            (_, title), *_ = frame.having(notebook.cells, "title")
            title["attachments"] = {NAME: {"image/png": png(int(hit[1]))}}
            form.write(file, notebook)
            print(f"{file.name}: road map drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
