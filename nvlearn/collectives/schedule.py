"""A collective as one schedule: who sends which chunk to whom, step by step."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all")


class Send(NamedTuple):
    """One transfer: in ``step``, ``source`` sends ``chunk`` to ``target``, who keeps or adds it."""

    step: int
    source: int
    target: int
    chunk: int
    into: int
    add: bool


def send(step: int, source: int, target: int, chunk: int, *, into: int | None = None,
         add: bool = False) -> Send:
    """Return one transfer of a schedule.

    Parameters
    ----------
    step : int
        All transfers of a step read before any of them writes.
    source, target : int
        Ranks.
    chunk : int
        Which part of the sender's array.
    into : int or None
        Where it goes in the receiver's array; None means the same part.
    add : bool
        Whether the receiver adds it to what it has, or replaces that.

    Lesson 06.

    >>> send(0, 1, 2, chunk=3, add=True)
    Send(step=0, source=1, target=2, chunk=3, into=3, add=True)
    """
    return Send(step, source, target, chunk, chunk if into is None else into, add)


@dataclass(frozen=True, eq=False)
class Schedule:
    """A collective as columns, one entry a transfer, in the order of the steps.

    Rank number ``ranks`` is the switch, where ``uses_switch``. Array chunk c belongs to rank
    c * ranks // chunks.
    """

    name: str
    collective: str
    ranks: int
    chunks: int
    step: IntArray
    source: IntArray
    target: IntArray
    chunk: IntArray
    into: IntArray
    add: NDArray[np.bool_]

    @cached_property
    def uses_switch(self) -> bool:
        """Whether the switch itself takes part, as in in-switch reduction."""
        return bool((self.source == self.ranks).any() or (self.target == self.ranks).any())

    @cached_property
    def bounds(self) -> IntArray:
        """Where each step begins in the columns, and where the last one ends."""
        first = np.flatnonzero(np.diff(self.step, prepend=-1))
        return np.append(first, len(self.step))

    @cached_property
    def pairs(self) -> tuple[list[tuple[int, int]], IntArray]:
        """The different (source, target) pairs, and which of them each transfer is."""
        keys, pair = np.unique(self.source * (self.ranks + 1) + self.target, return_inverse=True)
        return [divmod(int(key), self.ranks + 1) for key in keys], pair

    @cached_property
    def grid(self) -> IntArray | None:
        """The pairs as (steps, transfers of a step) where all steps are alike, else None."""
        widths = np.diff(self.bounds)
        if not len(widths) or (widths != widths[0]).any():
            return None
        grid = self.pairs[1].reshape(-1, int(widths[0]))
        alike = (grid == grid[0]).all() and len(np.unique(grid[0])) == len(grid[0])
        return grid if alike else None

    @cached_property
    def parents(self) -> tuple[IntArray, tuple[IntArray, IntArray], bool]:
        """What each transfer waits for.

        The last arrival in the place that it reads, or ``len(self)`` where there is none; all
        pairs of an older and a newer arrival in one place; and whether every place receives at
        most one chunk a step (if not, one parent is not enough).
        """
        reads = self.source * self.chunks + self.chunk
        writes = self.target * self.chunks + self.into
        last = np.full((self.ranks + 1) * self.chunks, len(self), dtype=np.int64)
        order = np.arange(len(self))
        parent, older = np.empty_like(order), np.empty_like(order)
        single = True
        for a, b in pairwise(self.bounds):
            here = writes[a:b]
            parent[a:b], older[a:b] = last[reads[a:b]], last[here]
            last[here] = order[a:b]
            single = single and bool((last[here] == order[a:b]).all())
        newer = np.flatnonzero(older < len(self))
        return parent, (older[newer], newer), single

    def __len__(self) -> int:
        return len(self.step)

    def __str__(self) -> str:
        """Every step on a line, as far as a reader can take it in."""
        lines = [f"{self.name}: ranks {self.ranks}, chunks {self.chunks}, "
                 f"steps {len(self.bounds) - 1}, transfers {len(self)}"]
        for a, b in pairwise(self.bounds[:13]):
            moves = [f"{self.source[i]}->{self.target[i]} c{self.chunk[i]}{'+' * int(self.add[i])}"
                     for i in range(a, min(b, a + 10))] + ["..."] * int(b - a > 10)
            lines.append(f"step {self.step[a]}:  {'  '.join(moves)}")
        return "\n".join(lines + ["..."] * (len(self.bounds) > 13))


def schedule(transfers: Iterable[Send], ranks: int, chunks: int, *, collective: str = "all_reduce",
             name: str = "my schedule") -> Schedule:
    """Collect transfers into a schedule that `run` and `time` read.

    Parameters
    ----------
    transfers : iterable of Send
        As `send` makes them, in any order.
    ranks : int
        GPUs that take part; rank number ``ranks`` is the switch.
    chunks : int
        Parts into which each rank's array is cut.
    collective : str
        What it is meant to do: all_reduce, reduce_scatter, all_gather, broadcast, all_to_all.
    name : str
        What it is called in pictures.

    Raises
    ------
    ValueError
        If a transfer names a rank or chunk that does not exist, or goes from a rank to itself.

    Lesson 06.

    >>> len(schedule([send(0, 0, 1, 0, add=True), send(1, 1, 0, 0)], ranks=2, chunks=1))
    2
    """
    rows = sorted(transfers, key=lambda row: row[0])
    for row in rows:
        fits = row.step >= 0 and row.source != row.target and all(int(x) == x for x in row)
        fits = fits and all(0 <= rank <= ranks for rank in (row.source, row.target))
        if not (fits and all(0 <= part < chunks for part in (row.chunk, row.into))):
            raise ValueError(f"{row} does not fit {ranks} ranks and {chunks} chunks: ranks are 0 "
                             f"to {ranks - 1} ({ranks} is the switch), chunks 0 to {chunks - 1}, "
                             "no rank sends to itself, and all are whole numbers.")
    phase = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return from_phases(name, collective, ranks, chunks, phase)


def from_phases(name: str, collective: str, ranks: int, chunks: int,
                *phases: np.ndarray) -> Schedule:
    """Return a schedule from its phases, one after another, each in step order already.

    Parameters
    ----------
    name, collective : str
        As for `schedule`.
    ranks, chunks : int
        As for `schedule`.
    *phases : int arrays, shape (6, transfers)
        Step, source, target, chunk, into and add.

    Raises
    ------
    ValueError
        If the collective is not known, or there is no rank or no chunk.

    Lesson 06.

    >>> len(from_phases("none", "all_reduce", 2, 1, np.empty((6, 0), dtype=int)))
    0
    """
    if collective not in KINDS:
        raise ValueError(f"{collective!r} is no collective here; choose one of {', '.join(KINDS)}.")
    if ranks < 1 or chunks < 1:
        raise ValueError(f"{name} needs at least 1 rank and 1 chunk, not {ranks} and {chunks}.")
    step, source, target, chunk, into, add = np.concatenate(phases, axis=1)
    return Schedule(name, collective, ranks, chunks, step, source, target, chunk, into, add > 0)


def chunk_sizes(length: int, chunks: int) -> IntArray:
    """Return the sizes of the chunks of an array, the longer ones first, as NumPy splits it.

    Parameters
    ----------
    length : int
        Elements or bytes.
    chunks : int
        Number of parts.

    Source: ``numpy.array_split``.
    Lesson 06.

    >>> chunk_sizes(10, 4).tolist()
    [3, 3, 2, 2]
    """
    size, longer = divmod(int(length), chunks)
    return size + (np.arange(chunks) < longer)


def run(plan: Schedule, arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Carry out a schedule on real arrays and return what each rank holds at the end.

    The arrays given stay as they are.

    Parameters
    ----------
    plan : Schedule
        What to do.
    arrays : iterable of arrays, shape (length,)
        One for each rank, all of the same length and type.

    Raises
    ------
    ValueError
        If there is not one array for each rank, or they differ in length.

    Lesson 06.

    >>> plan = schedule([send(0, 0, 1, 0, add=True), send(1, 1, 0, 0)], ranks=2, chunks=1)
    >>> [array.tolist() for array in run(plan, np.array([[1, 2], [10, 20]]))]
    [[11, 22], [11, 22]]
    """
    held = [np.array(array) for array in arrays]
    lengths = {array.shape for array in held}
    if len(held) != plan.ranks or len(lengths) != 1 or held[0].ndim != 1:
        raise ValueError(f"{plan.name} needs {plan.ranks} one-dimensional arrays of one length, "
                         f"one for each rank; got {len(held)} of shape {[*lengths]}.")
    held.append(np.zeros_like(held[0]))  # the switch starts empty
    ends = np.concatenate([[0], np.cumsum(chunk_sizes(len(held[0]), plan.chunks))])
    part = [slice(a, b) for a, b in pairwise(ends)]
    for a, b in pairwise(plan.bounds):
        moving = [held[plan.source[i]][part[plan.chunk[i]]].copy() for i in range(a, b)]
        for i, cargo in zip(range(a, b), moving, strict=True):
            place = held[plan.target[i]][part[plan.into[i]]]
            if len(place) != len(cargo):
                raise ValueError(f"{plan.name} moves chunk {plan.chunk[i]} into {plan.into[i]}, "
                                 "which differ in length; give arrays that divide by "
                                 f"{plan.chunks}.")
            place[:] = place + cargo if plan.add[i] else cargo
    return held[: plan.ranks]
