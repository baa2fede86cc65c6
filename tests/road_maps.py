"""Draw the road map into the title of each lesson: ``python tests/road_maps.py``.

JupyterLab shows attachments of raster pictures only, so the drawing is made a PNG by Chromium.
"""

from __future__ import annotations

import base64
import sys

import lesson_frame as frame
import notebook_form as form
from browser import lab

from nvlearn.figures import road_map

NAME = "road_map.png"


def png(lesson: int) -> str:
    """Return the road map of a lesson as base64 of a PNG, at twice its size."""
    picture = road_map(lesson)
    size = {"width": int(picture.width), "height": int(picture.height)}
    with lab.browser() as running:
        page = running.new_page(viewport=size, device_scale_factor=2)
        page.set_content(f"<style>body {{ margin: 0 }}</style>{picture.svg}")
        return base64.b64encode(page.screenshot()).decode()


def main() -> int:
    """Put the picture of each lesson into its title cell."""
    for path in form.notebooks():
        if hit := frame.LESSON.fullmatch(path.name):
            notebook = form.read(path)
            (_, title), *_ = frame.having(notebook.cells, "title")
            title["attachments"] = {NAME: {"image/png": png(int(hit[1]))}}
            form.write(path, notebook)
            print(f"{path.name}: road map drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
