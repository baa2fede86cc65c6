"""A trace as a timeline, rank by time, over the load of the links."""

from typing import Any, NamedTuple

import numpy as np

from nvlearn.collectives import Trace
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, boxes, text_width
from nvlearn.figures.picture import Picture
from nvlearn.figures.step import ticks
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import format_size, format_time

WIDTH, LEFT, RIGHT, TOP = 960.0, 200.0, 884.0, 112.0
ROWS, ROW, BINS, SHADES = 12, 18.0, 171, 5  # links shown, their pitch; boxes and shades of a row
MANY = 2000  # transfers; more are drawn as bands
#: Fill and ink of a transfer that is added, of one that is handed out, of the mark of a slow one.
PHASES = {"add": (style.FACTORY, style.PAPER), "keep": ("#7FD3B8", style.INK),
          "slow": (style.JAM, style.PAPER)}
WAY = {"nvlink": "nvlink", "network": "infiniband"}


class Bars(NamedTuple):
    """The transfers as bars, in the order of their lanes and starts: one column a field.

    Thin bars are merged into bands, which have the chunk -1.
    """

    x: np.ndarray
    end: np.ndarray
    y: np.ndarray
    height: np.ndarray
    add: np.ndarray
    slow: np.ndarray
    chunk: np.ndarray


def timeline(trace: Trace) -> Picture:
    """Draw when every rank sends, and under it how busy the busiest links are over time."""
    require(trace.seconds > 0, f"{trace.schedule.name} took no time, so there is nothing to draw; "
            "send a message of more than 0 bytes")
    lanes = trace.schedule.ranks + trace.schedule.uses_switch
    pitch = min(34.0, max(5.0, 300 / lanes))
    foot, used = TOP + lanes * pitch, np.flatnonzero(trace.link_bytes)
    rows, told = busiest(trace, used), findings(trace, used)
    sheet = Drawing(WIDTH, foot + 84 + len(rows) * ROW)
    ground(sheet, trace, lanes, pitch)
    sheet.layer()
    sheet.heading(told["title"], words("timeline.subtitle", **told))
    scale = (RIGHT - LEFT) / trace.seconds
    ticks(sheet, trace.seconds, LEFT, scale, (TOP, foot + 4, foot + 18),
          lambda time: format_time(time) if time else "0")
    sheet.text(LEFT - 10, foot + 18, words("timeline.axis"), style.SMALL, style.MUTED, "end")
    draw_bars(sheet, bars(trace, pitch))
    heading = words(f"timeline.{'rows' if len(rows) == len(used) else 'most'}",
                    shown=len(rows), used=len(used))
    sheet.text(24, foot + 62, heading, style.SMALL, bold=True)
    sheet.text(WIDTH - 24, foot + 62, words("timeline.share"), style.SMALL, style.MUTED, "end")
    draw_links(sheet, trace, rows, foot + 74)
    busy = {link_name(trace, i): float(trace.utilisation[i]) for i in rows}
    return sheet.picture(words("timeline.told.sentence", **told), busy=busy)


def busiest(trace: Trace, used: np.ndarray) -> np.ndarray:
    """Return the busiest links of each kind in turn, at most `ROWS`, in their own order."""
    busy = trace.utilisation[used].round(6)
    order = used[np.argsort(-busy, kind="stable")]
    kinds = np.array([trace.topology.bundles[link].kind for link in order])
    nth = [int((kinds[:i] == kind).sum()) for i, kind in enumerate(kinds)]
    return np.sort(order[np.argsort(nth, kind="stable")[:ROWS]])


def link_name(trace: Trace, index: int) -> str:
    """Return the name of a bundle of links."""
    bundle = trace.topology.bundles[index]
    return words("timeline.link", source=bundle.source, target=bundle.target)


def findings(trace: Trace, used: np.ndarray) -> dict[str, Any]:
    """Return what the title and the sentence say."""
    busy, bundles = trace.utilisation[used], [trace.topology.bundles[link] for link in used]
    slow = np.array([bundle.capacity < bundle.nominal for bundle in bundles])
    kinds = np.array([bundle.kind for bundle in bundles])
    top = int(np.argmax(busy + 1e-3 * slow))
    second = int(np.argmax(busy + (kinds != kinds[top])))  # of another kind if there is one
    mode = ("even" if np.ptp(busy) < 0.02 else "slow" if slow[top]
            else "kinds" if busy[second] < busy[top] - 0.05 else "uneven")
    told = {
        "time": format_time(trace.seconds, 3), "link": link_name(trace, used[top]),
        "busy": f"{busy[top]:.0%}", "mean": f"{busy.mean():.0%}", "other": f"{busy[second]:.0%}",
        "waiting": f"{1 - busy[~slow | (mode != 'slow')].mean():.0%}",
        "first": words(f"timeline.kind.{kinds[top]}"), "used": len(used),
        "second": words(f"timeline.kind.{kinds[second]}"), "transfers": len(trace.schedule),
        "name": trace.schedule.name, "size": format_size(trace.message),
        "machine": trace.topology.name}
    return told | {"title": words(f"timeline.title.{mode}", **told)}


def ground(sheet: Drawing, trace: Trace, lanes: int, pitch: float) -> None:
    """Draw the empty lanes with their names, and the legend of what there is."""
    add = trace.schedule.add
    there = {"add": add.any(), "keep": not add.all(), "slow": slowest(trace).any()}
    for i, key in enumerate(key for key in there if there[key]):
        x, top = LEFT + 150 * i, 84 if key == "slow" else 76
        sheet.rect(x, top, 22, 88 - top, PHASES[key][0])
        sheet.text(x + 29, 86, words(f"timeline.legend.{key}"), style.SMALL, style.MUTED)
    y = TOP + (np.arange(lanes) + 0.08) * pitch
    sheet.path(boxes(LEFT, y, RIGHT - LEFT, pitch * 0.84), style.GROUND)
    names = [*trace.topology.gpus[: trace.schedule.ranks], words("timeline.switch")]
    for lane in range(0, lanes, int(-(-13 // pitch))):
        middle = TOP + (lane + 0.5) * pitch
        sheet.text(LEFT - 10, middle + 4, names[lane], style.SMALL, anchor="end")


def slowest(trace: Trace) -> np.ndarray:
    """Return which transfers cross the slowest links, none where all are equally fast."""
    rate = trace.topology.capacities[trace.link]
    least = rate.min() * 1.001
    return np.asarray((rate <= least) & (rate.max() > least))


def bars(trace: Trace, pitch: float) -> Bars:
    """Return the bars, a track for each link that leaves a rank; thin ones merge into bands."""
    plan, scale, links = trace.schedule, (RIGHT - LEFT) / trace.seconds, len(trace.topology.bundles)
    leaves = np.array([route[0] for route in trace.routes])[trace.pair]
    tracks, track = np.unique(plan.source * links + leaves, return_inverse=True)
    lane = tracks // links
    nth, many = np.arange(len(lane)) - np.searchsorted(lane, lane), np.bincount(lane)[lane]
    nth, many = (np.where(many * 3 > pitch, x, y) for x, y in ((0, nth), (1, many)))
    height, slow = pitch * 0.84 / many, slowest(trace)
    thin = len(plan) > MANY or np.median(trace.end - trace.start) * scale < 6
    group = track + len(tracks) * (2 * plan.add + slow) * thin
    order = np.lexsort((trace.start, group))
    shift = group[order] * 1e4  # keeps the groups apart on one line
    x, end = (LEFT + time[order] * scale + shift for time in (trace.start, trace.end))
    reach = np.maximum.accumulate(end)
    begin = np.flatnonzero(np.append(True, (x[1:] > reach[:-1] + 0.5) | (not thin)))
    x, shift, order = x[begin], shift[begin], order[begin]
    end = np.maximum.reduceat(end, begin)
    end = np.minimum(end, np.append(x[1:], np.inf))  # a link that is taken again was free
    y = TOP + pitch * (lane + 0.08) + nth * height
    mine, chunk = track[order], np.where(thin, -1, plan.chunk[order])
    return Bars(x - shift, end - shift, y[mine], height[mine], plan.add[order], slow[order], chunk)


def draw_bars(sheet: Drawing, bars: Bars) -> None:
    """Draw the bars, one path a colour, mark the slow ones and name chunks where there is room."""
    edge = style.PAPER if (bars.chunk >= 0).any() else None
    for key in ("add", "keep"):
        x, end, y, h = (column[bars.add == (key == "add")] for column in bars[:4])
        sheet.path(boxes(x, y, np.maximum(end - x, 0.4), h), PHASES[key][0], stroke=edge)
    x, end, y, h = (column[bars.slow] for column in bars[:4])
    sheet.path(boxes(x, y + h * 0.78, end - x, h * 0.22), PHASES["slow"][0])
    named = (bars.end - bars.x > 18) & (bars.chunk >= 0) & (bars.height > 12)
    for x, end, y, h, add, _, chunk in zip(*(c[named].tolist() for c in bars), strict=True):
        if text_width(f"c{chunk}", style.TINY) < end - x - 2:
            ink = PHASES["add" if add else "keep"][1]
            sheet.text((x + end) / 2, y + h / 2 + 3, f"c{chunk}", style.TINY, ink, "middle")


def draw_links(sheet: Drawing, trace: Trace, rows: np.ndarray, top: float) -> None:
    """Draw a row for each link, darker where it is busier, with its share of the time."""
    for i, link in enumerate(rows.tolist()):
        y = top + i * ROW + 11
        sheet.text(LEFT - 10, y, link_name(trace, link), style.TINY, anchor="end")
        sheet.text(WIDTH - 24, y, f"{trace.utilisation[link]:.0%}", style.SMALL, anchor="end")
    loads = np.array([load(trace, link) for link in rows])
    shade = np.ceil(loads * SHADES - 0.05).clip(0, SHADES)
    begin = np.flatnonzero(np.diff(shade, prepend=-1).ravel())
    (row, place), level = np.divmod(begin, BINS), shade.ravel()[begin]
    length = np.diff(np.append(begin, shade.size))
    ways = np.array([WAY.get(trace.topology.bundles[link].kind, "pcie") for link in rows])[row]
    unit = (RIGHT - LEFT) / BINS
    for way, tone in sorted({*zip(ways.tolist(), level.tolist(), strict=True)}):
        here = (ways == way) & (level == tone)
        d = boxes(LEFT + place[here] * unit, top + row[here] * ROW, length[here] * unit, ROW - 4)
        fill = style.WAYS[way].dark if tone else style.GROUND
        sheet.path(d, fill, fill_opacity=tone / SHADES or None)


def load(trace: Trace, link: int) -> np.ndarray:
    """Return how busy a link is in each of `BINS` slices of time, 1 is all the time.

    The bytes of a transfer are spread evenly from its start to its end.
    """
    here = np.array([link in route for route in trace.routes])[trace.pair]
    start, end = trace.start[here], trace.end[here]
    rate, when = trace.bytes[here] / np.maximum(end - start, 1e-12), np.append(start, end)
    order = np.argsort(when)
    flow = np.append(rate, -rate)[order].cumsum()
    sent = np.append(0, flow[:-1] * np.diff(when[order])).cumsum()
    edges = np.linspace(0.0, trace.seconds, BINS + 1)
    most = trace.topology.capacities[link] * trace.seconds / BINS
    return np.asarray(np.diff(np.interp(edges, when[order], sent)) / most)
