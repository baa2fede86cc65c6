"""A trace as a timeline, rank by time, over the use of the links."""

from typing import Any, NamedTuple

import numpy as np

from nvlearn.collectives import Trace
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, Picture, boxes
from nvlearn.figures.step import ticks
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import format_size, format_time

WIDTH, LEFT, RIGHT, TOP = 960.0, 200.0, 884.0, 112.0
ROWS, ROW, MANY = 12, 18.0, 2000  # links shown, their pitch; more transfers are drawn as bands
#: Fill and ink of a transfer that is added, and of one that is handed out.
PHASES = {"add": (style.FACTORY, style.PAPER), "keep": ("#7FD3B8", style.INK)}
WAY = {"nvlink": "nvlink", "network": "infiniband"}


class Link(NamedTuple):
    """A bundle of links that was used, the share of the time, whether it was made slow."""

    name: str
    kind: str
    busy: float
    slow: bool


def timeline(trace: Trace) -> Picture:
    """Draw when every rank sends, and under it how busy the busiest links are."""
    require(trace.seconds > 0, f"{trace.schedule.name} took no time, so there is nothing to draw; "
            "send a message of more than 0 bytes")
    used = links(trace)
    told, kinds = findings(trace, used), dict.fromkeys(link.kind for link in used)
    rows = [link for kind in kinds
            for link in [link for link in used if link.kind == kind][: ROWS // len(kinds)]]
    lanes = trace.schedule.ranks + trace.schedule.uses_switch
    pitch = min(34.0, max(5.0, 300 / lanes))
    foot = TOP + lanes * pitch
    sheet = Drawing(WIDTH, foot + 84 + len(rows) * ROW)
    ground(sheet, trace, lanes, pitch)
    sheet.layer()
    sheet.heading(told["title"], words("timeline.subtitle", **told))
    scale = (RIGHT - LEFT) / trace.seconds
    ticks(sheet, trace.seconds, LEFT, scale, TOP, foot + 4,
          lambda time: format_time(time) if time else "0")
    sheet.text(LEFT - 10, foot + 20, words("timeline.axis"), style.SMALL, style.MUTED, "end")
    draw_bars(sheet, bars(trace, pitch))
    sheet.text(24, foot + 62, words("timeline.rows", shown=len(rows), used=len(used)), bold=True)
    draw_links(sheet, rows, foot + 74)
    return sheet.picture(words("timeline.sentence", **told),
                         busy={link.name: link.busy for link in rows})


def links(trace: Trace) -> list[Link]:
    """Return the links that carried anything, the busiest first, a slow one before its equals."""
    columns = trace.topology.bundles, trace.utilisation.tolist(), trace.link_bytes.tolist()
    used = [Link(words("timeline.link", source=bundle.source, target=bundle.target), bundle.kind,
                 round(busy, 6), bundle.capacity < bundle.nominal)
            for bundle, busy, sent in zip(*columns, strict=True) if sent]
    return sorted(used, key=lambda link: (-link.busy, not link.slow))


def findings(trace: Trace, used: list[Link]) -> dict[str, Any]:
    """Return what the title and the sentence say."""
    top, *others = used
    mode = "even" if top.busy - used[-1].busy < 0.02 else "slow" if top.slow else "uneven"
    told = {
        "time": format_time(trace.seconds, 3), "link": top.name, "busy": f"{top.busy:.0%}",
        "mean": f"{np.mean([link.busy for link in used]):.0%}", "used": len(used),
        "waiting": f"{1 - np.mean([link.busy for link in others or used]):.0%}",
        "transfers": len(trace.schedule), "name": trace.schedule.name,
        "size": format_size(trace.message), "machine": trace.topology.name}
    return told | {"title": words(f"timeline.title.{mode}", **told)}


def ground(sheet: Drawing, trace: Trace, lanes: int, pitch: float) -> None:
    """Draw the empty lanes with their names."""
    y = TOP + (np.arange(lanes) + 0.08) * pitch
    sheet.path(boxes(LEFT, y, RIGHT - LEFT, pitch * 0.84), style.GROUND)
    names = [*trace.topology.gpus[: trace.schedule.ranks], words("timeline.switch")]
    for lane in range(0, lanes, int(-(-13 // pitch))):
        sheet.text(LEFT - 10, y[lane] + 0.42 * pitch + 4, names[lane], style.SMALL, anchor="end")


def bars(trace: Trace, pitch: float) -> Any:
    """Return the transfers as a record array of bars, a track for each link that leaves a rank.

    Thin ones merge into bands, which have the chunk -1.
    """
    plan, scale, count = trace.schedule, (RIGHT - LEFT) / trace.seconds, len(trace.topology.bundles)
    leaves = np.array([route[0] for route in trace.routes])[trace.pair]
    tracks, track = np.unique(plan.source * count + leaves, return_inverse=True)
    lane = tracks // count
    height = pitch * 0.84 / np.bincount(lane)[lane]
    y = TOP + pitch * (lane + 0.08) + (np.arange(len(lane)) - np.searchsorted(lane, lane)) * height
    thin = len(plan) > MANY or np.median(trace.end - trace.start) * scale < 6
    group = track * 2 + plan.add * thin
    order = np.lexsort((trace.start, group))
    group, x, end = group[order], LEFT + trace.start[order] * scale, LEFT + trace.end[order] * scale
    apart = (np.diff(group) > 0) | (x[1:] > end[:-1] + 0.5) | (not thin)
    first = np.flatnonzero(np.append(True, apart))
    group, x, end, order = group[first], x[first], np.maximum.reduceat(end, first), order[first]
    # A link that is taken again was free.
    end[:-1] = np.where(np.diff(group) > 0, end[:-1], np.minimum(end[:-1], x[1:]))
    mine, chunk = track[order], np.where(thin, -1, plan.chunk[order])
    columns = x, end, y[mine], height[mine], plan.add[order], chunk
    return np.rec.fromarrays(columns, formats="f8, f8, f8, f8, ?, i8",
                             names="x, end, y, height, add, chunk")


def draw_bars(sheet: Drawing, bars: Any) -> None:
    """Draw the bars, one path a colour, and name chunks where there is room."""
    edge = style.PAPER if (bars.chunk >= 0).any() else None
    for x, (key, (fill, ink)) in zip((200, 350), PHASES.items(), strict=True):
        sheet.rect(x, 76, 22, 12, fill)
        sheet.text(x + 29, 86, words(f"timeline.legend.{key}"), style.SMALL, style.MUTED)
        mine = bars[bars.add == (key == "add")]
        wide = np.maximum(mine.end - mine.x, 0.4)
        sheet.path(boxes(mine.x, mine.y, wide, mine.height), fill, stroke=edge)
        named = mine[(wide > 20) & (mine.chunk >= 0) & (mine.height > 12)]
        for left, end, y, height, _, chunk in named.tolist():
            sheet.text((left + end) / 2, y + height / 2 + 3, f"c{chunk}", style.TINY, ink, "middle")


def draw_links(sheet: Drawing, rows: list[Link], top: float) -> None:
    """Draw a bar for each link, as long as its share of the time, with the share."""
    for y, link in zip(np.arange(len(rows)) * ROW + top, rows, strict=True):
        fill = style.JAM if link.slow else style.WAYS[WAY.get(link.kind, "pcie")].dark
        sheet.text(LEFT - 10, y + 11, link.name, style.TINY, anchor="end")
        sheet.rect(LEFT, y, RIGHT - LEFT, ROW - 4, style.GROUND)
        sheet.rect(LEFT, y, (RIGHT - LEFT) * link.busy, ROW - 4, fill)
        sheet.text(WIDTH - 24, y + 11, f"{link.busy:.0%}", style.SMALL, anchor="end")
