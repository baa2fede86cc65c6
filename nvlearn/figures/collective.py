"""A collective step by step: who holds whose parts, and what moves in this step."""

import numpy as np

from nvlearn.collectives import Schedule, Send, run, schedule
from nvlearn.exercises import COPIES, expected
from nvlearn.figures import style
from nvlearn.figures.city import factory
from nvlearn.figures.drawing import Drawing, Picture, boxes, pen
from nvlearn.formulas.checks import require
from nvlearn.i18n import words

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
        sheet.path(pen("M{}C{} {} {}M{}L{}L{}", *way, *wings), stroke=line, stroke_width=2.5)
        at = complex(np.dot(SPOT, way))
        sheet.text(at.real, at.imag + 4, cargo(sends), style.SMALL, ink, "middle", bold=True,
                   halo=True)


def wire(a: complex, b: complex, half: complex) -> list[complex]:
    """Return the four points of a curve between the inner sides of two boxes, in right of out."""
    out, into = (np.sign((CENTRE - at).imag or (other - at).imag)
                 for at, other in ((a, b), (b, a)))
    start = a + out * complex(14, half.imag + 4)
    end = b + into * complex(-14, half.imag + 4)
    # A way within a row bows out the more the farther it goes.
    lead = 30 + abs(end - start) / 6 if out == into else abs((end - start).imag) / 2
    return [start, start + 1j * out * lead, end + 1j * into * lead, end]


def cargo(sends: list[Send]) -> str:
    """Say what travels together: "c3 +" is added, "c3" kept, "c3 → c0" put elsewhere."""
    loads = [f"c{send.chunk}" + f" → c{send.into}" * (send.into != send.chunk) + " +" * send.add
             for send in sends]
    if len(loads) > 2:
        loads = [words("collective.chunks", count=len(loads)) + " +" * sends[0].add]
    return ", ".join(loads)
