"""A training step as a timeline: computing, communicating, and the part that shows."""

import math
from collections.abc import Callable, Sequence

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, path, sketch, text_width
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.training import DemoRow, Splits, findings, seconds
from nvlearn.units import format_rate, format_size, format_time

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
    sheet.path(path((complex(end, TOP - 6), complex(end, foot))), stroke=style.INK,
               stroke_width=1.5, stroke_dasharray="4 4")
    sheet.legend([(words(f"step.legend.{look}"), sketch(bar, look, rows[0].way, -13, -6, 26, 12))
                  for look in ("compute", "hidden", "exposed")], 82)
    bars = {"both": (("overlapped", 0), ("in_turn", 19))}.get(show, ((show, 9),))
    for index, row in enumerate(rows):
        y = TOP + index * PITCH
        sheet.text(24, y + 15, row.name, style.BODY, style.WAYS[row.way].dark, bold=True)
        sheet.text(24, y + 31, format_rate(row.rate), style.SMALL, style.MUTED)
        for mode, below in bars:
            draw_step(sheet, row, mode, y + below, scale)
    sentence = (told and f"{told}.") or words(f"step.sentence.{show}_{hidden}", **found)
    return sheet.picture(sentence, rows=rows)


def ticks(sheet: Drawing, longest: float, left: float, scale: float, top: float, foot: float,
          shown: Callable[[float], str]) -> None:
    """Draw a line at each round time up to the longest, and the time under it."""
    step = tick_step(longest)
    for tick in range(int(longest / step + 1e-9) + 1):
        x = left + tick * step * scale
        sheet.path(path((complex(x, top), complex(x, foot))), stroke=style.RULE)
        sheet.text(x, foot + 16, shown(tick * step), style.SMALL, style.MUTED, "middle")


def tick_step(longest: float) -> float:
    """Return a round distance of ticks that puts four to nine of them on the axis."""
    power = 10.0 ** math.floor(math.log10(longest / 4))
    return next(power * k for k in (5, 2, 1) if power * k <= longest / 4)


def bar(sheet: Drawing, look: str, way: str, x: float, y: float, w: float, h: float) -> None:
    """Draw computing, or communication: filled while hidden, striped where the step waits."""
    line = style.WAYS[way]
    fill = {"compute": style.WORK, "hidden": line.fill, "exposed": style.PAPER}[look]
    sheet.rect(x, y, w, h, fill, stroke=style.FACTORY if look == "compute" else line.dark)
    if look == "exposed":
        stripes = path((complex(x, y + h / 2), complex(x + w, y + h / 2)))
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


#: What a split waits for, in the order of its bar, each readable under ink.
WAITS = {"tensor": "#7FD1B5", "bubble": style.WORK, "pipeline": "#9CD3F2", "data": "#F2C879"}


def split_bars(found: Splits, title: str, rows: int = 5) -> Picture:
    """Draw what a step waits for under each of the best splits, what they send, and their time."""
    foot, left, pitch = TOP + 62 * rows, 316.0, 62
    sheet, computing = Drawing(WIDTH, foot + 46), found.parts["compute"]
    longest = (found.total - computing).max(initial=0) or 1.0
    scale = (840 - left) / longest
    sheet.heading(title, words(f"splits.{'subtitle' if computing.size else 'none'}",
                               computing=format_time(computing.max(initial=0), 3)))
    ticks(sheet, longest, left, scale, TOP - 6, foot, "{:.4g}".format)
    sheet.text(578, foot + 36, words("splits.axis"), style.SMALL, style.MUTED, "middle")
    sheet.legend([(words(f"splits.{kind}"), sketch(
        Drawing.rect, -13, -6, 26, 12, fill, stroke=style.MUTED)) for kind, fill in WAITS.items()],
        82)
    for row, total in enumerate(found.total):
        y, x = TOP + pitch * row, left
        told = {name: cut[row] for name, cut in found.cuts.items()}
        told["room"] = format_size(found.memory[row], digits=2)
        told["near"], told["far"] = (format_size(sum(sent)[row], digits=3)
                                     for sent in zip(*found.sent.values(), strict=True))
        sheet.text(24, y + 14, words("splits.name", **told), bold=True)
        for below, line in ((30, "how"), (46, "sends")):
            sheet.text(24, y + below, words(f"splits.{line}", **told), style.SMALL, style.MUTED)
        for kind, fill in WAITS.items():
            wide, name = found.parts[kind][row] * scale, words(f"splits.{kind}")
            sheet.rect(x, y + 4, wide, 24, fill, stroke=style.MUTED)
            if text_width(name, style.TINY) < wide - 4:
                sheet.text(x + wide / 2, y + 20, name, style.TINY, anchor="middle")
            x += wide
        sheet.text(x + 8, y + 21, format_time(total), bold=True, halo=True)
    return sheet.picture(title, found=found)
