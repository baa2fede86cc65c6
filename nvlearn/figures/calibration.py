"""A learner's own calibration: how far each prediction lay from the truth, and by which slip."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nvlearn.answers import slip_sentence
from nvlearn.figures import style
from nvlearn.figures.drawing import Picture
from nvlearn.figures.plot import Axes, Plot, Scale
from nvlearn.i18n import words

NEAR, MOST, SHOWN = 1.1, 100.0, 24  # a ratio that is near; where the axis ends; predictions drawn


def calibration(records: Sequence[Mapping[str, Any]]) -> Picture:
    """Draw the last predictions of the learner's record: guess / truth on a logarithmic axis."""
    given = [record for record in records if (record.get("ratio") or 0) > 0][-SHOWN:]
    ratios = np.array([record["ratio"] for record in given])
    ticks = tuple((10.0**k, words("calibration.times", ratio=f"{10.0**k:g}"))
                  for k in (-2, -1, 0, 1, 2))
    rows = tuple((-float(i), str(record["id"])) for i, record in enumerate(given))
    tall = 22.0 * max(len(given), 1)
    plot = Plot(Axes("calibration", Scale(1 / MOST, MOST, ticks, words("calibration.x"), log=True),
                     Scale(0.4 - len(given), 0.6, rows), 150, bottom=150 + tall, height=230 + tall))
    plot.curve([1, 1], [plot.axes.y.low, plot.axes.y.high], style.INK, "4 4", 1.5)
    off = np.where([bool(record.get("slip")) for record in given], "slip", "off")
    kinds = np.where((ratios >= 1 / NEAR) & (ratios <= NEAR), "right", off)
    looks = {"right": ("circle", style.FREE), "slip": ("diamond", style.JAM),
             "off": ("square", style.MUTED)}
    for name, (marker, colour) in looks.items():
        here = np.flatnonzero(kinds == name)
        plot.points(np.clip(ratios[here], 1 / MOST, MOST), -here, colour, marker,
                    name=words(f"calibration.{name}"))
    slips = Counter(record["slip"] for record in given if record.get("slip")).most_common(3)
    lines = [words("calibration.count", count=n, of=len(given), slip=slip_sentence(code))
             for code, n in slips]
    title = words("calibration.title" if given else "calibration.none", of=len(given),
                  right=(kinds == "right").sum(), slips=(kinds == "slip").sum())
    return plot.picture(title, words("calibration.subtitle"), " ".join([f"{title}.", *lines]),
                        kinds=kinds.tolist())
