"""A collective: who holds whose parts after each step, and its transfers over time."""

from typing import Any, NamedTuple

import numpy as np

from nvlearn.collectives import Schedule, Send, Trace, run, schedule
from nvlearn.exercises import COPIES, expected
from nvlearn.figures import style
from nvlearn.figures.city import WAYS, factory
from nvlearn.figures.drawing import Drawing, Picture, Points, boxes, path, sketch
from nvlearn.figures.step import ticks
from nvlearn.formulas.checks import require
from nvlearn.i18n import words
from nvlearn.units import MIB, format_size, format_time

WIDTH, HEIGHT, CENTRE, MOST = 960.0, 640.0, 480 + 344j, 8  # ranks and chunks at most
#: Of a box: its width, the part of it for a chunk's name, the heights of its head and its lines.
WIDE, NAME, ROOF, LINE = 156.0, 26.0, 28.0, 14.0
#: Line and ink of an arrow whose cargo is kept, and of one whose cargo is added.
PAINT = (style.FREE, style.WAYS["nvlink"].dark), (style.FACTORY, style.INK)
FINAL = "#7FD3B8"
#: Shares of an arrow's four points in the spot where its cargo is named: near the sender, where
#: few lines cross.
SPOT = 0.475, 0.4, 0.115, 0.01


def collective_step(schedule: Schedule, step: int) -> Picture:
    """Draw what every rank holds after a step (0 is before the first) and what moved in it."""
    name, steps = schedule.name, len(schedule.bounds) - 1
    require(0 <= step <= steps, f"{name} has {steps} steps; choose 0 (before them) to {steps}, "
            f"not {step}")
    require(max(schedule.ranks, schedule.chunks) <= MOST,
            f"A step is drawn for up to {MOST} ranks and {MOST} chunks; {name} has "
            f"{schedule.ranks} and {schedule.chunks}. Choose fewer ranks or fewer pieces")
    sheet, (places, half, cells) = Drawing(WIDTH, HEIGHT), seat(schedule)
    held, done, total, moves = state_after(schedule, step)
    ground(sheet, schedule, places, half, cells)
    sheet.layer()
    title = finding(schedule, step, total - done.sum(), moves)
    told = words("collective.done", done=done.sum(), total=total)
    sheet.heading(title, words("collective.subtitle"))
    sheet.text(24, HEIGHT - 12, told, style.SMALL, style.WAYS["nvlink"].dark)
    contents(sheet, held, done, moves, cells)
    arrows(sheet, moves, places, half)
    return sheet.picture(f"{title}. {told}", held=held, done=done, moves=moves)


def state_after(plan: Schedule, step: int) -> tuple[np.ndarray, np.ndarray, int, list[Send]]:
    """Return what is held after a step, what of it is final, how much will be, what moved.

    What every rank holds, and after them the switch, is marked by owner: (place, chunk, owner).
    """
    chunk, here = np.arange(plan.chunks), np.arange(plan.ranks)
    given = np.zeros((plan.ranks + 1, plan.chunks, plan.ranks), dtype=np.int64)
    starts = {"all_gather": chunk * plan.ranks // plan.chunks == here[:, None],
              "broadcast": here[:, None] == 0}.get(plan.collective, True)
    # Chunks that are only copied must be told apart as well.
    given[here, :, here] = starts * (1 + chunk * (plan.collective in COPIES))
    rows = np.transpose([getattr(plan, column) for column in Send._fields]).tolist()
    sends, (before, now) = [*map(Send._make, rows)], [0, *plan.bounds][step : step + 2]
    so_far = schedule(sends[:now], plan.ranks + 1, plan.chunks)
    held = np.reshape(run(so_far, given.reshape(len(given), -1)), given.shape)
    want, counts = expected(plan, given[:-1])
    return held, (held[:-1] == want).all(-1) & counts, int(counts.sum()), sends[before:now]


def finding(plan: Schedule, step: int, wrong: int, moves: list[Send]) -> str:
    """Return the title: what this step does, or what is reached."""
    steps = len(plan.bounds) - 1
    if step in (0, steps):
        when = "before" if not step else "missed" if wrong else "after"
        return words(f"collective.{when}.{plan.collective}", steps=steps, wrong=wrong)
    load = words(f"collective.load.{'many' if len(moves) > 1 else 'one'}", count=len(moves))
    fate = words("collective.fate." + "_".join(sorted({("keep", "add")[m.add] for m in moves})))
    return words("collective.during", step=step, steps=steps, load=load, fate=fate)


def seat(plan: Schedule) -> tuple[list[complex], complex, np.ndarray]:
    """Return the middle of everyone's box, half its size, and the cells, (place, chunk, 4).

    The ranks stand in two rows, clockwise, so that a ring is a loop and a domain stays together;
    the switch, if it adds, between them.
    """
    upper, lower = -(-plan.ranks // 2), plan.ranks // 2
    half = complex(WIDE, ROOF + LINE * plan.chunks) / 2
    rows = [[complex(24 + 912 * (nth + 0.5) / count, y) for nth in range(count)]
            for count, y in ((upper, 152), (lower, 536))]
    places = [*rows[0], *rows[1][::-1], *[CENTRE] * plan.uses_switch]
    x, y = np.array([[at.real, at.imag] for at in places]).T[..., None]
    down = y - half.imag + ROOF + LINE * np.arange(plan.chunks)
    return places, half, np.stack(np.broadcast_arrays(x - half.real, down, WIDE, LINE), axis=-1)


def ground(sheet: Drawing, plan: Schedule, places: list[complex], half: complex,
           cells: np.ndarray) -> None:
    """Draw the factories, the switch if it adds, their empty cells, the names of the chunks."""
    for rank, at in enumerate(places):
        head, size = at - 1j * (half.imag - ROOF / 2), complex(half.real, ROOF / 2)
        name, paint = words("collective.gpu", rank=rank), style.FACTORY
        if rank == plan.ranks:
            name, paint = words("collective.switch"), style.WAYS["nvswitch"].dark
        sheet.path(factory(head, size), paint)
        sheet.text(at.real, head.imag + 10, name, style.SMALL, style.PAPER, "middle", bold=True)
    sheet.path(boxes(*cells.reshape(-1, 4).T), style.GROUND, stroke=style.RULE)
    for i, (x, y, *_) in enumerate(cells.reshape(-1, 4).tolist()):
        sheet.text(x + 6, y + 11, f"c{i % plan.chunks}", style.TINY, style.MUTED)


def contents(sheet: Drawing, held: np.ndarray, done: np.ndarray, moves: list[Send],
             cells: np.ndarray) -> None:
    """Say whose parts a cell holds; fill what is final, outline what has just changed."""
    x, y, wide, tall = cells[: len(done)][done].T
    sheet.path(boxes(x + NAME, y, wide - NAME, tall), FINAL)
    changed = dict.fromkeys((move.target, move.into) for move in moves)
    outlined = np.reshape([cells[place] for place in changed], (-1, 4))
    sheet.path(boxes(*outlined.T), stroke=style.INK, stroke_width=2)
    for place, chunk in np.argwhere(held[: len(cells)].any(-1)).tolist():
        x, y, *_ = cells[place, chunk].tolist()
        parts = "+".join(map(str, np.flatnonzero(held[place, chunk])))
        sheet.text(x + NAME + 6, y + 11, parts, style.TINY, bold=True)


def arrows(sheet: Drawing, moves: list[Send], places: list[complex], half: complex) -> None:
    """Draw an arrow for each pair that exchanges something, with its cargo on it."""
    for a, b in sorted({(move.source, move.target) for move in moves}):
        sends = [move for move in moves if (move.source, move.target) == (a, b)]
        (line, ink), way = PAINT[sends[0].add], wire(places[a], places[b], half)
        back = 9 * (way[2] - way[3]) / abs(way[2] - way[3])
        wings = way[3] + back * (1 - 0.6j), way[3], way[3] + back * (1 + 0.6j)
        curve = path(way).replace("L", "C", 1).replace("L", " ")
        sheet.path(curve + path(wings), stroke=line, stroke_width=2.5)
        at = complex(np.dot(SPOT, way))
        sheet.text(at.real, at.imag + 4, cargo(sends), style.SMALL, ink, "middle", bold=True,
                   halo=True)


def wire(a: complex, b: complex, half: complex) -> Points:
    """Return the four points of a curve between the inner sides of two boxes, in right of out."""
    out, into = (np.sign((CENTRE - at).imag or (other - at).imag)
                 for at, other in ((a, b), (b, a)))
    start = a + out * complex(14, half.imag + 4)
    end = b + into * complex(-14, half.imag + 4)
    # A way within a row bows out the more the farther it goes.
    lead = 30 + abs(end - start) / 6 if out == into else abs((end - start).imag) / 2
    return start, start + 1j * out * lead, end + 1j * into * lead, end


def cargo(sends: list[Send]) -> str:
    """Say what travels together: "c3 +" is added, "c3" kept, "c3 → c0" put elsewhere."""
    loads = [f"c{send.chunk}" + f" → c{send.into}" * (send.into != send.chunk) + " +" * send.add
             for send in sends]
    if len(loads) > 2:
        loads = [words("collective.chunks", count=len(loads)) + " +" * sends[0].add]
    return ", ".join(loads)


# --- over time ----------------------------------------------------------------

LEFT, RIGHT, TOP = 200.0, 884.0, 112.0
ROWS, ROW, CROWD = 12, 18.0, 20_000  # links shown, their pitch; transfers at most
#: Fill and ink of a transfer that is added, and of one that is handed out.
PHASES = {"add": (style.FACTORY, style.PAPER), "keep": (FINAL, style.INK)}


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
    require(len(trace.schedule) <= CROWD, f"{trace.schedule.name} has {len(trace.schedule):,} "
            f"transfers and a timeline shows up to {CROWD:,}; choose fewer ranks or fewer pieces")
    used = links(trace)
    told, rows = facts(trace, used), used[:ROWS]
    lanes = trace.schedule.ranks + trace.schedule.uses_switch
    pitch = min(34.0, max(5.0, 300 / lanes))
    foot = TOP + lanes * pitch
    sheet = Drawing(WIDTH, foot + 84 + len(rows) * ROW)
    lane_names(sheet, trace, lanes, pitch)
    sheet.layer()
    sheet.heading(told["title"], words("timeline.subtitle", **told))
    scale = (RIGHT - LEFT) / trace.seconds
    ticks(sheet, trace.seconds, LEFT, scale, TOP, foot + 4,
          lambda time: format_time(time) if time else "0")
    sheet.text(LEFT - 10, foot + 20, words("timeline.axis"), style.SMALL, style.MUTED, "end")
    sheet.legend([(words(f"timeline.legend.{key}"), sketch(Drawing.rect, -13, -6, 26, 12, fill))
                  for key, (fill, _) in PHASES.items()], 82)
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


def facts(trace: Trace, used: list[Link]) -> dict[str, Any]:
    """Return what the title and the sentence say."""
    top, *others = used
    mode = "even" if top.busy - used[-1].busy < 0.02 else "slow" if top.slow else "uneven"
    told = {
        "time": format_time(trace.seconds, 3), "link": top.name, "busy": f"{top.busy:.0%}",
        "mean": f"{np.mean([link.busy for link in used]):.0%}", "used": len(used),
        "waiting": f"{1 - np.mean([link.busy for link in others or used]):.0%}",
        "transfers": len(trace.schedule), "name": trace.schedule.name,
        "size": format_size(trace.message, binary=trace.message % MIB == 0),
        "machine": trace.topology.name}
    return told | {"title": words(f"timeline.title.{mode}", **told)}


def lane_names(sheet: Drawing, trace: Trace, lanes: int, pitch: float) -> None:
    """Draw the empty lanes with their names."""
    y = TOP + (np.arange(lanes) + 0.08) * pitch
    sheet.path(boxes(LEFT, y, RIGHT - LEFT, pitch * 0.84), style.GROUND)
    names = [*trace.topology.gpus[: trace.schedule.ranks], words("timeline.switch")]
    for lane in range(0, lanes, int(-(-13 // pitch))):
        sheet.text(LEFT - 10, y[lane] + 0.42 * pitch + 4, names[lane], style.SMALL, anchor="end")


def bars(trace: Trace, pitch: float) -> Any:
    """Return the transfers as a record array of bars, a track for each link that leaves a rank."""
    plan, scale, count = trace.schedule, (RIGHT - LEFT) / trace.seconds, len(trace.topology.bundles)
    leaves = np.array([route[0] for route in trace.routes])[trace.pair]
    tracks, track = np.unique(plan.source * count + leaves, return_inverse=True)
    lane = tracks // count
    height = pitch * 0.84 / np.bincount(lane)[lane]
    y = TOP + pitch * (lane + 0.08) + (np.arange(len(lane)) - np.searchsorted(lane, lane)) * height
    order = np.lexsort((trace.start, track))
    x, end, mine = LEFT + trace.start[order] * scale, LEFT + trace.end[order] * scale, track[order]
    # A link that is taken again was free.
    end[:-1] = np.where(np.diff(mine) > 0, end[:-1], np.minimum(end[:-1], x[1:]))
    columns = x, end, y[mine], height[mine], plan.add[order], plan.chunk[order]
    return np.rec.fromarrays(columns, formats="f8, f8, f8, f8, ?, i8",
                             names="x, end, y, height, add, chunk")


def draw_bars(sheet: Drawing, bars: Any) -> None:
    """Draw the bars, one path a colour, and name chunks where there is room."""
    edge = style.PAPER if np.median(bars.end - bars.x) > 6 else None
    for key, (fill, ink) in PHASES.items():
        mine = bars[bars.add == (key == "add")]
        wide = np.maximum(mine.end - mine.x, 0.4)
        sheet.path(boxes(mine.x, mine.y, wide, mine.height), fill, stroke=edge)
        named = mine[(wide > 20) & (mine.height > 12)]
        for left, end, y, height, _, chunk in named.tolist():
            sheet.text((left + end) / 2, y + height / 2 + 3, f"c{chunk}", style.TINY, ink, "middle")


def draw_links(sheet: Drawing, rows: list[Link], top: float) -> None:
    """Draw a bar for each link, as long as its share of the time, with the share."""
    for y, link in zip(np.arange(len(rows)) * ROW + top, rows, strict=True):
        fill = style.JAM if link.slow else WAYS[link.kind].dark
        sheet.text(LEFT - 10, y + 11, link.name, style.TINY, anchor="end")
        sheet.rect(LEFT, y, RIGHT - LEFT, ROW - 4, style.GROUND)
        sheet.rect(LEFT, y, (RIGHT - LEFT) * link.busy, ROW - 4, fill)
        sheet.text(WIDTH - 24, y + 11, f"{link.busy:.0%}", style.SMALL, anchor="end")
