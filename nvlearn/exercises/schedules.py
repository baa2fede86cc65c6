"""Check a schedule that a learner wrote: every rank must end with what was promised."""

import numpy as np

from nvlearn.collectives import Schedule, run
from nvlearn.exercises.checks import Check
from nvlearn.i18n import words

COPIES = ("all_gather", "broadcast", "all_to_all")  # they move chunks and add nothing


def check_schedule(plan: Schedule) -> Check:
    """Try a schedule on marked arrays; the first place that ends wrong is named with its parts.

    Each rank's array says, chunk by chunk, whose parts it holds; a broadcast starts at rank 0.
    """
    if plan.collective == "all_to_all" and plan.chunks != plan.ranks:
        return Check(False, words("schedule.chunks", name=plan.name, ranks=plan.ranks))
    marks = np.zeros((plan.ranks, plan.chunks, plan.ranks), dtype=np.int64)
    for rank in range(plan.ranks):
        marks[rank, :, rank] = 1
    if plan.collective in COPIES:
        marks *= np.arange(1, plan.chunks + 1)[:, None]  # the chunks must be told apart as well
    held = np.array(run(plan, marks.reshape(plan.ranks, -1))).reshape(marks.shape)
    want, counts = expected(plan, marks)
    wrong = np.argwhere((held != want).any(-1) & counts)
    if not len(wrong):
        told = {"steps": len(plan.bounds) - 1, "transfers": len(plan)}
        return Check(True, words("schedule.right", name=plan.name, goal=plan.collective, **told))
    rank, chunk = wrong[0]
    return Check(False, words(
        "schedule.wrong", rank=rank, chunk=chunk, got=parts(held[rank, chunk], plan),
        expected=parts(want[rank, chunk], plan), count=len(wrong), places=int(counts.sum())))


def expected(plan: Schedule, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what every rank must hold, shape (rank, chunk, mark), and which places count."""
    owner = np.arange(plan.chunks) * plan.ranks // plan.chunks
    mine = owner == np.arange(plan.ranks)[:, None]
    copies = {"all_gather": given[owner, np.arange(plan.chunks)], "broadcast": given[0],
              "all_to_all": given.swapaxes(0, 1)}
    want = np.broadcast_to(copies.get(plan.collective, given.sum(0)), given.shape)
    return want, mine if plan.collective == "reduce_scatter" else np.ones_like(mine)


def parts(marks: np.ndarray, plan: Schedule) -> str:
    """Say whose parts a place holds: which chunk, or for sums whose more than once."""
    owners = np.flatnonzero(marks)
    if not len(owners):
        return words("schedule.nothing")
    if plan.collective in COPIES and len(owners) == 1 and marks[owners[0]] <= plan.chunks:
        return words("schedule.copy", rank=owners[0], chunk=marks[owners[0]] - 1)
    listed = ", ".join(map(str, owners))
    twice = owners[marks[owners] > 1] if plan.collective not in COPIES else owners[:0]
    again = words("schedule.twice", ranks=", ".join(map(str, twice))) if len(twice) else ""
    return words("schedule.parts", ranks=listed) + again
