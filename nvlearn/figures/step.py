"""A training step as a timeline: computing, communicating, and the part that shows."""

import math
from collections.abc import Callable, Sequence

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, pen
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.training import DemoRow
from nvlearn.units import format_rate

WIDTH, LEFT, RIGHT = 960.0, 292.0, 772.0
TOP, PITCH, TALL = 116.0, 48.0, 8.0


def step_timeline(rows: Sequence[DemoRow], show: str = "both", told: str = "") -> Picture:
    """Draw each interconnect's step, overlapped and in turn; `show` may name one of the two.

    `told` is the finding where the rows differ in other things than their link.
    """
    fine = rows and all(row.compute > 0 and row.communication > 0 for row in rows)
    require(bool(fine), "A step needs one interconnect or more, with times above 0")
    foot, found = TOP + PITCH * len(rows) + 6, findings(rows)
    sheet = Drawing(WIDTH, foot + 46)
    hidden = "hidden" if found["visible"] == 0 else "seen"
    mode = "in_turn" if show == "in_turn" else f"overlapped_{hidden}"
    subtitle = words(f"step.subtitle.{'told' if told else hidden}", **found)
    sheet.heading(told or words(f"step.title.{mode}", **found), subtitle)
    longest = max(row.overlapped if show == "overlapped" else row.in_turn for row in rows)
    scale = (RIGHT - LEFT) / longest
    ticks(sheet, longest, LEFT, scale, TOP - 6, foot, "{:.4g}".format)
    middle, end = (LEFT + RIGHT) / 2, LEFT + rows[0].compute * scale
    sheet.text(middle, foot + 36, words("step.axis"), style.SMALL, style.MUTED, "middle")
    sheet.path(pen("M{}V{}", complex(end, TOP - 6), foot), stroke=style.INK, stroke_width=1.5,
               stroke_dasharray="4 4")
    legend(sheet)
    bars = {"both": (("overlapped", 0), ("in_turn", 19))}.get(show, ((show, 9),))
    for index, row in enumerate(rows):
        y = TOP + index * PITCH
        sheet.text(24, y + 15, row.name, style.BODY, style.WAYS[row.way].dark, bold=True)
        sheet.text(24, y + 31, format_rate(row.rate), style.SMALL, style.MUTED)
        for mode, below in bars:
            draw_step(sheet, row, mode, y + below, scale)
    sentence = (told and f"{told}.") or words(f"step.sentence.{show}_{hidden}", **found)
    return sheet.picture(sentence, rows=rows)


def seconds(value: float) -> str:
    """Return a time as this picture prints it: seconds, three decimals, like its axis."""
    return f"{value:.3f} s"


def findings(rows: Sequence[DemoRow]) -> dict[str, object]:
    """Return what the title and the sentence say."""
    fast, slow = (pick(rows, key=lambda row: row.in_turn) for pick in (min, max))
    return {
        "compute": seconds(rows[0].compute), "count": len(rows),
        "visible": sum(row.communication > row.compute for row in rows),
        "fast": fast.name, "fast_time": seconds(fast.in_turn),
        "slow": slow.name, "slow_time": seconds(slow.in_turn),
        "worst": seconds(slow.overlapped), "needed": seconds(slow.communication),
        "ratio": f"{slow.in_turn / fast.in_turn:.2f}"}


def ticks(sheet: Drawing, longest: float, left: float, scale: float, top: float, foot: float,
          shown: Callable[[float], str]) -> None:
    """Draw a line at each round time up to the longest, and the time under it."""
    step = tick_step(longest)
    for tick in range(int(longest / step + 1e-9) + 1):
        x = left + tick * step * scale
        sheet.path(pen("M{}V{}", complex(x, top), foot), stroke=style.RULE)
        sheet.text(x, foot + 16, shown(tick * step), style.SMALL, style.MUTED, "middle")


def tick_step(longest: float) -> float:
    """Return a round distance of ticks that puts four to nine of them on the axis."""
    power = 10.0 ** math.floor(math.log10(longest / 4))
    return next(power * k for k in (5, 2, 1) if power * k <= longest / 4)


def legend(sheet: Drawing) -> None:
    """Explain the three fills."""
    for x, look in ((LEFT, "compute"), (LEFT + 110, "hidden"), (LEFT + 340, "exposed")):
        bar(sheet, look, "nvlink", x, 76, 26, 12)
        sheet.text(x + 34, 87, words(f"step.legend.{look}"), style.SMALL, style.MUTED)


def bar(sheet: Drawing, look: str, way: str, x: float, y: float, w: float, h: float) -> None:
    """Draw computing, or communication: filled while hidden, striped where the step waits."""
    line = style.WAYS[way]
    fill = {"compute": style.WORK, "hidden": line.fill, "exposed": style.PAPER}[look]
    sheet.rect(x, y, w, h, fill, stroke=style.FACTORY if look == "compute" else line.dark)
    if look == "exposed":
        stripes = pen("M{}h{}", complex(x, y + h / 2), w)
        sheet.path(stripes, stroke=line.dark, stroke_width=h, stroke_dasharray="1.5 4")


def draw_step(sheet: Drawing, row: DemoRow, mode: str, y: float, scale: float) -> None:
    """Draw computing, and below it communicating beside or after it; the time, the waiting."""
    total, end = row.overlapped if mode == "overlapped" else row.in_turn, LEFT + row.compute * scale
    waits = total - row.compute
    behind = (row.communication - waits) * scale
    for look, x, top, wide in (("compute", LEFT, y, end - LEFT), ("hidden", LEFT, y + TALL, behind),
                               ("exposed", end, y + TALL, waits * scale)):
        if wide > 0.005:  # else there is nothing to see
            bar(sheet, look, row.way, x, top, wide, TALL)
    sheet.text(LEFT - 8, y + 12, words(f"step.mode.{mode}"), style.SMALL, style.MUTED, "end")
    share = words("step.share", percent=f"{waits / total:.1%}") if waits > 0 else ""
    x = LEFT + total * scale + 8
    sheet.text(x, y + 13, seconds(total) + share, style.SMALL, bold=mode == "in_turn", halo=True)
