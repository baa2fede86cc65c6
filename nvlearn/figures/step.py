"""A training step as a timeline: computing, communicating, and the part that shows."""

import math
from collections.abc import Sequence

from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing
from nvlearn.figures.picture import Picture
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.training import DemoRow
from nvlearn.units import format_rate

WIDTH, LEFT, RIGHT = 960.0, 292.0, 772.0
TOP, PITCH, BAR = 116.0, 48.0, 16.0


def step_timeline(rows: Sequence[DemoRow], show: str = "both") -> Picture:
    """Draw each interconnect's step, overlapped and in turn; `show` may name one of the two."""
    fine = rows and all(row.compute > 0 and row.communication > 0 for row in rows)
    require(bool(fine), "A step needs one interconnect or more, with times above 0")
    height = TOP + PITCH * len(rows) + 52
    sheet = Drawing(WIDTH, height)
    told = findings(rows)
    hidden = "hidden" if told["visible"] == 0 else "seen"
    mode = "in_turn" if show == "in_turn" else f"overlapped_{hidden}"
    sheet.heading(words(f"step.title.{mode}", **told), words(f"step.subtitle.{hidden}", **told))
    scale = axis(sheet, rows, show, height)
    legend(sheet)
    for index, row in enumerate(rows):
        draw_row(sheet, row, TOP + index * PITCH, scale, show)
    return sheet.picture(
        words(f"step.sentence.{show}_{hidden}", **told),
        names=[row.name for row in rows],
        overlapped=[row.overlapped for row in rows],
        in_turn=[row.in_turn for row in rows])


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


def axis(sheet: Drawing, rows: Sequence[DemoRow], show: str, height: float) -> float:
    """Draw ticks in seconds and the end of the computation; return pixels per second."""
    longest = max(row.overlapped if show == "overlapped" else row.in_turn for row in rows)
    scale = (RIGHT - LEFT) / longest
    foot = height - 46
    step = tick_step(longest)
    for tick in range(int(longest / step + 1e-9) + 1):
        x = LEFT + tick * step * scale
        sheet.line(x, TOP - 6, x, foot, style.RULE, stroke_width=1)
        sheet.text(x, foot + 18, f"{tick * step:.4g}", style.SMALL, style.MUTED, "middle")
    middle = (LEFT + RIGHT) / 2
    sheet.text(middle, foot + 36, words("step.axis"), style.SMALL, style.MUTED, "middle")
    end = LEFT + rows[0].compute * scale
    sheet.line(end, TOP - 6, end, foot, style.INK, stroke_width=1.5, stroke_dasharray="4 4")
    return scale


def tick_step(longest: float) -> float:
    """Return a round distance of ticks that puts four to nine of them on the axis."""
    power = 10.0 ** math.floor(math.log10(longest / 4))
    return next(power * k for k in (5, 2, 1) if power * k <= longest / 4)


def legend(sheet: Drawing) -> None:
    """Explain the three fills."""
    x = LEFT
    for key, width in (("compute", 110), ("hidden", 230), ("exposed", 0)):
        if key == "compute":
            sheet.rect(x, 76, 26, 12, style.WORK, stroke=style.FACTORY)
        else:
            bar(sheet, "nvlink", x, 76, 26, 12, exposed=key == "exposed")
        sheet.text(x + 34, 87, words(f"step.legend.{key}"), style.SMALL, style.MUTED)
        x += width


def bar(sheet: Drawing, way: str, x: float, y: float, w: float, h: float, exposed: bool) -> None:
    """Draw communication: filled while it is hidden, hatched where the step waits for it."""
    if w <= 0:
        return
    line = style.WAYS[way]
    if exposed:
        sheet.rect(x, y, w, h, style.PAPER, stroke=line.dark)
        sheet.hatch(x, y, w, h, line.dark)
    else:
        sheet.rect(x, y, w, h, line.fill, stroke=line.dark)


def draw_row(sheet: Drawing, row: DemoRow, y: float, scale: float, show: str) -> None:
    """Draw one interconnect: its name and rate, then the bars asked for."""
    sheet.text(24, y + 15, row.name, style.BODY, style.WAYS[row.way].dark, bold=True)
    sheet.text(24, y + 31, format_rate(row.rate), style.SMALL, style.MUTED)
    both = show == "both"
    if show != "in_turn":
        draw_overlapped(sheet, row, y if both else y + 9, scale)
    if show != "overlapped":
        draw_in_turn(sheet, row, y + 19 if both else y + 9, scale)


def draw_overlapped(sheet: Drawing, row: DemoRow, y: float, scale: float) -> None:
    """Draw computing above communicating, both from the start."""
    half = BAR / 2
    inside = min(row.compute, row.communication) * scale
    sheet.rect(LEFT, y, row.compute * scale, half, style.WORK, stroke=style.FACTORY)
    bar(sheet, row.way, LEFT, y + half, inside, half, exposed=False)
    rest = (row.communication - row.compute) * scale
    bar(sheet, row.way, LEFT + inside, y + half, rest, half, exposed=True)
    label(sheet, "overlapped", y, row.overlapped, row.overlapped - row.compute, scale)


def draw_in_turn(sheet: Drawing, row: DemoRow, y: float, scale: float) -> None:
    """Draw computing, then communicating."""
    end = LEFT + row.compute * scale
    sheet.rect(LEFT, y, row.compute * scale, BAR, style.WORK, stroke=style.FACTORY)
    bar(sheet, row.way, end, y, row.communication * scale, BAR, exposed=True)
    label(sheet, "in_turn", y, row.in_turn, row.communication, scale)


def label(sheet: Drawing, mode: str, y: float, total: float, exposed: float, scale: float) -> None:
    """Name the bar on its left; on its right print its length and the share that waits."""
    sheet.text(LEFT - 8, y + 12, words(f"step.mode.{mode}"), style.SMALL, style.MUTED, "end")
    share = words("step.share", percent=f"{exposed / total:.1%}") if exposed > 0 else ""
    x = LEFT + total * scale + 8
    sheet.text(x, y + 13, seconds(total) + share, style.SMALL, bold=mode == "in_turn", halo=True)
