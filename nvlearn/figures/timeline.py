"""A trace as a timeline, rank by time, over the load of the links."""

from typing import Any, NamedTuple

import numpy as np

from nvlearn.collectives import Trace
from nvlearn.figures import style
from nvlearn.figures.drawing import Drawing, text_width
from nvlearn.figures.picture import Picture
from nvlearn.figures.step import tick_step
from nvlearn.i18n import words
from nvlearn.units import format_size, format_time

WIDTH, LEFT, RIGHT, TOP = 960.0, 200.0, 884.0, 112.0
ROWS, ROW, BINS, SHADES = 12, 18.0, 171, 5  # links shown, their pitch; boxes and shades of a row
MANY = 2000  # transfers; more are drawn as bands
#: Fill and ink of a transfer that is added, and of one that is handed out.
PHASES = {"add": (style.FACTORY, style.PAPER), "keep": ("#7FD3B8", style.INK)}
WAY = {"nvlink": "nvlink", "network": "infiniband"}


class Bars(NamedTuple):
    """The transfers as bars, in the order of their lanes and starts: one column a field."""

    x: np.ndarray
    end: np.ndarray
    y: np.ndarray
    height: np.ndarray
    add: np.ndarray
    slow: np.ndarray
    chunk: np.ndarray
    room: np.ndarray


def timeline(trace: Trace, *, links: bool = True) -> Picture:
    """Draw when every rank sends, and under it how busy the busiest links are over time."""
    if trace.seconds <= 0:
        raise ValueError(f"{trace.schedule.name} took no time, so there is nothing to draw; send "
                         "a message of more than 0 bytes.")
    lanes = trace.schedule.ranks + trace.schedule.uses_switch
    pitch = min(34.0, max(5.0, 300 / lanes))
    foot, used = TOP + lanes * pitch, np.flatnonzero(trace.link_bytes)
    rows = busiest(trace, used)
    sheet, told = Drawing(WIDTH, foot + 52 + (32 + len(rows) * ROW) * links), findings(trace, used)
    ground(sheet, trace, lanes, pitch, words("timeline.subtitle", **told))
    sheet.layer()
    sheet.text(24, 35, told["title"], style.TITLE, bold=True)
    axis(sheet, trace.seconds, foot)
    draw_bars(sheet, bars(trace, pitch))
    if links:
        heading = words("timeline.rows" if len(rows) == len(used) else "timeline.most",
                        shown=len(rows), used=len(used))
        draw_links(sheet, trace, rows, foot + 62, heading)
    busy = {link_name(trace, i): float(trace.utilisation[i]) for i in rows}
    return sheet.picture(words("timeline.told.sentence", **told), seconds=trace.seconds, busy=busy)


def busiest(trace: Trace, used: np.ndarray) -> np.ndarray:
    """Return the busiest links of each kind in turn, at most `ROWS`, in their own order."""
    busy = trace.utilisation[used].round(6)
    order = used[np.argsort(-busy, kind="stable")]
    kinds = np.array([trace.topology.bundles[link].kind for link in order])
    nth = [int((kinds[:i] == kind).sum()) for i, kind in enumerate(kinds)]
    return np.array(sorted(order[np.argsort(nth, kind="stable")[:ROWS]].tolist()), dtype=np.int64)


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
    others = np.flatnonzero(kinds != kinds[top])
    second = others[np.argmax(busy[others])] if len(others) else top
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


def ground(sheet: Drawing, trace: Trace, lanes: int, pitch: float, subtitle: str) -> None:
    """Draw the empty lanes with their names, and the legend."""
    sheet.text(24, 58, subtitle, style.BODY, style.MUTED)
    x = LEFT
    for key, (fill, _) in PHASES.items():
        if (trace.schedule.add == (key == "add")).any():
            sheet.rect(x, 76, 22, 12, fill)
            sheet.text(x + 29, 86, words(f"timeline.legend.{key}"), style.SMALL, style.MUTED)
            x += 150
    if slowest(trace).any():
        sheet.rect(x, 84, 22, 4, style.JAM)
        sheet.text(x + 29, 86, words("timeline.legend.slow"), style.SMALL, style.MUTED)
    y, height = TOP + np.arange(lanes) * pitch + pitch * 0.08, np.full(lanes, pitch * 0.84)
    sheet.path(boxes(np.full(lanes, LEFT), y, np.full(lanes, RIGHT - LEFT), height), style.GROUND)
    for lane in range(0, lanes, int(-(-13 // pitch))):
        gpu = lane < trace.schedule.ranks
        name = trace.topology.gpus[lane] if gpu else words("timeline.switch")
        sheet.text(LEFT - 10, TOP + (lane + 0.5) * pitch + 4, name, style.SMALL, anchor="end")


def boxes(x: np.ndarray, y: np.ndarray, w: np.ndarray, h: np.ndarray) -> str:
    """Return path data of many boxes."""
    rows = zip(x.tolist(), y.tolist(), w.tolist(), h.tolist(), strict=True)
    return "".join(f"M{a:.1f} {b:.1f}h{c:.1f}v{d:.1f}h-{c:.1f}z" for a, b, c, d in rows)


def axis(sheet: Drawing, seconds: float, foot: float) -> None:
    """Draw round times under the lanes."""
    step = tick_step(seconds)
    for tick in range(int(seconds / step + 1e-9) + 1):
        x = LEFT + tick * step * (RIGHT - LEFT) / seconds
        sheet.line(x, TOP, x, foot + 4, style.RULE)
        shown = format_time(tick * step) if tick else "0"
        sheet.text(x, foot + 18, shown, style.SMALL, style.MUTED, "middle")
    sheet.text(LEFT - 10, foot + 18, words("timeline.axis"), style.SMALL, style.MUTED, "end")


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
    x, end = LEFT + trace.start * scale, LEFT + trace.end * scale
    thin = len(plan) > MANY or np.median(end - x) < 6
    group = track + len(tracks) * (2 * plan.add + slow) * thin
    order = np.lexsort((x, group))
    shift = group[order] * 1e4  # keeps the groups apart on one line
    x, end = x[order] + shift, end[order] + shift
    reach = np.maximum.accumulate(end)
    begin = np.flatnonzero(np.append(True, (x[1:] > reach[:-1] + 0.5) | (not thin)))
    end, room = np.maximum.reduceat(end, begin), np.append(x[1:], np.inf)[begin] - x[begin]
    shift, x, mine = shift[begin], x[begin], track[order][begin]
    y = TOP + pitch * (lane + 0.08) + nth * height
    columns = (y[mine], height[mine], plan.add[order][begin], slow[order][begin])
    end = end if thin else np.minimum(end, x + room)  # a link that is taken again was free
    room = (end - x) * (not thin)
    return Bars(x - shift, end - shift, *columns, plan.chunk[order][begin], room)


def draw_bars(sheet: Drawing, bars: Bars) -> None:
    """Draw the bars, one path a colour, mark the slow ones and name chunks where there is room."""
    edge = style.PAPER if bars.room.any() else None
    for key, (fill, _) in PHASES.items():
        x, end, y, h, *_ = (column[bars.add == (key == "add")] for column in bars)
        if len(x):
            sheet.path(boxes(x, y, np.maximum(end - x, 0.4), h), fill, stroke=edge)
    x, end, y, h, *_ = (column[bars.slow] for column in bars)
    if len(x):
        sheet.path(boxes(x, y + h * 0.78, end - x, h * 0.22), style.JAM)
    for i in np.flatnonzero((bars.room > 18) & (bars.height > 12)).tolist():
        name = f"c{bars.chunk[i]}"
        if text_width(name, style.TINY) < bars.room[i] - 2:
            x0, y0 = float(bars.x[i] + bars.room[i] / 2), float(bars.y[i] + bars.height[i] / 2)
            ink = PHASES["add" if bars.add[i] else "keep"][1]
            sheet.text(x0, y0 + 3, name, style.TINY, ink, "middle")


def draw_links(sheet: Drawing, trace: Trace, rows: np.ndarray, top: float, heading: str) -> None:
    """Draw a row for each link, darker where it is busier, with its share of the time."""
    sheet.text(24, top, heading, style.SMALL, bold=True)
    sheet.text(WIDTH - 24, top, words("timeline.share"), style.SMALL, style.MUTED, "end")
    every = top + 12 + np.arange(len(rows)) * ROW
    for y, link in zip(every.tolist(), rows.tolist(), strict=True):
        sheet.text(LEFT - 10, y + 11, link_name(trace, link), style.TINY, anchor="end")
        sheet.text(WIDTH - 24, y + 11, f"{trace.utilisation[link]:.0%}", style.SMALL, anchor="end")
    shade = np.ceil(load(trace, rows) * SHADES - 0.05).clip(0, SHADES).astype(int)
    begin = np.flatnonzero(np.diff(shade, prepend=-1).ravel())
    row, length = begin // BINS, np.diff(np.append(begin, shade.size))
    ways = np.array([WAY.get(trace.topology.bundles[link].kind, "pcie") for link in rows])[row]
    tone, box = shade.ravel()[begin], (RIGHT - LEFT) / BINS
    for way, level in sorted({*zip(ways.tolist(), tone.tolist(), strict=True)}):
        here = (ways == way) & (tone == level)
        x, w, h = LEFT + begin[here] % BINS * box, length[here] * box, np.full(here.sum(), ROW - 4)
        fill = style.WAYS[way].dark if level else style.GROUND
        sheet.path(boxes(x, every[row[here]], w, h), fill, fill_opacity=level / SHADES or None)


def load(trace: Trace, rows: np.ndarray) -> np.ndarray:
    """Return how busy links are in each slice of time, shape (links, BINS), 1 is all the time.

    The bytes of a transfer are spread evenly from its start to its end.
    """
    row = np.full(len(trace.topology.bundles) + 1, len(rows))
    row[rows] = np.arange(len(rows))
    hops = max(map(len, trace.routes))
    routes = np.array([[*route, *[-1] * (hops - len(route))] for route in trace.routes])
    crossed = row[routes[trace.pair]].ravel()
    edges = np.linspace(0.0, trace.seconds, BINS + 1)
    rate = np.repeat(trace.bytes / np.maximum(trace.end - trace.start, 1e-12), hops)

    def until(times: np.ndarray) -> np.ndarray:
        """Return the bytes sent until each edge if transfers began at these times for ever."""
        when = np.repeat(times, hops)
        slot = crossed * (BINS + 1) + np.minimum(np.searchsorted(edges, when), BINS)
        size = (len(rows) + 1) * (BINS + 1)
        rates, moments = (np.bincount(slot, weight, size).reshape(-1, BINS + 1).cumsum(1)
                          for weight in (rate, rate * when))
        poured: np.ndarray = rates * edges - moments
        return poured

    sent = np.diff(until(trace.start) - until(trace.end))[:-1]
    most: np.ndarray = trace.topology.capacities[rows, None] * trace.seconds / BINS
    return np.asarray(sent / most)
