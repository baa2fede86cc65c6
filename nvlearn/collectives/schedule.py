"""A collective as one schedule, who sends which chunk to whom, and the algorithms as such."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
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


# --- the algorithms --------------------------------------------------------------


def _ring_phase(members: np.ndarray, blocks: np.ndarray, first: int, *, add: bool) -> np.ndarray:
    """The columns of N-1 steps on rings, shape (6, transfers).

    ``members`` is (rings, N), the ranks in ring order; ``blocks`` is (rings, N, parts), the
    chunks that each member owns. Adding, the owner's chunk reaches it last; else it leaves first.
    """
    rings, n, parts = blocks.shape
    step, ring, here, part = np.ogrid[: n - 1, :rings, :n, :parts]
    chunk = blocks[ring, (here - step - add) % n, part]
    source, target = members[ring, here], members[ring, (here + 1) % n]
    columns = np.broadcast_arrays(first + step, source, target, chunk, chunk, np.int64(add))
    return np.array([column.ravel() for column in columns])


def _one_ring(ranks: int, orders: Sequence[Sequence[int]] | None) -> tuple[np.ndarray, np.ndarray]:
    """Members and blocks of rings over all ranks, one slice of every chunk for each ring."""
    if ranks < 2:
        raise ValueError(f"A ring needs at least 2 ranks, not {ranks}.")
    members = np.array([range(ranks)] if orders is None else orders)
    if members.ndim != 2 or any(sorted(order) != [*range(ranks)] for order in members.tolist()):
        raise ValueError(f"A ring passes each of the {ranks} ranks once; got {members.tolist()}.")
    rings = len(members)
    return members, (members * rings + np.arange(rings)[:, None])[:, :, None]


def ring_all_reduce(ranks: int, orders: Sequence[Sequence[int]] | None = None) -> Schedule:
    """Return the ring all-reduce: N-1 steps that add, then N-1 that hand out the sums.

    Parameters
    ----------
    ranks : int
        Number N of GPUs, at least 2.
    orders : sequence of rings, or None
        Rings that share the message evenly, each an order of the ranks; None is one ring 0, 1, ...

    Raises
    ------
    ValueError
        If there are fewer than 2 ranks, or a ring does not pass each of them once.

    Formula: 2(N-1)(a + M/(N B)); Patarasuk and Yuan 2009.
    Lesson 06.

    >>> len(ring_all_reduce(8))
    112
    """
    members, blocks = _one_ring(ranks, orders)
    return from_phases("ring all-reduce", "all_reduce", ranks, ranks * len(members),
                       _ring_phase(members, blocks, 0, add=True),
                       _ring_phase(members, blocks, ranks - 1, add=False))


def ring_reduce_scatter(ranks: int) -> Schedule:
    """Return the ring reduce-scatter: after N-1 steps rank r holds the sum of chunk r.

    Parameters
    ----------
    ranks : int
        Number N of GPUs, at least 2.

    Raises
    ------
    ValueError
        If there are fewer than 2 ranks.

    Formula: (N-1)(a + M/(N B)); nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> len(ring_reduce_scatter(8))
    56
    """
    phase = _ring_phase(*_one_ring(ranks, None), 0, add=True)
    return from_phases("ring reduce-scatter", "reduce_scatter", ranks, ranks, phase)


def ring_all_gather(ranks: int) -> Schedule:
    """Return the ring all-gather: each rank's chunk r travels once around.

    Parameters
    ----------
    ranks : int
        Number N of GPUs, at least 2.

    Raises
    ------
    ValueError
        If there are fewer than 2 ranks.

    Formula: (N-1)(a + M/(N B)); nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> len(ring_all_gather(8))
    56
    """
    phase = _ring_phase(*_one_ring(ranks, None), 0, add=False)
    return from_phases("ring all-gather", "all_gather", ranks, ranks, phase)


def ring_broadcast(ranks: int, pieces: int = 16) -> Schedule:
    """Return the broadcast down a chain from rank 0, piece after piece.

    Parameters
    ----------
    ranks : int
        Number N of GPUs.
    pieces : int
        Parts that follow each other.

    Formula: (N - 2 + pieces)(a + M/(pieces B)) on a chain; NCCL broadcasts along its rings.
    Lesson 06.

    >>> len(ring_broadcast(4, pieces=2))
    6
    """
    sends = (send(rank + piece, rank, rank + 1, piece)
             for rank in range(ranks - 1) for piece in range(pieces))
    return schedule(sends, ranks, pieces, collective="broadcast", name="chain broadcast")


def pairwise_all_to_all(ranks: int) -> Schedule:
    """Return the all-to-all in which every pair of ranks swaps its two chunks.

    Parameters
    ----------
    ranks : int
        Number N of GPUs.

    Formula: M(N-1)/(N B) and one latency, since the sends do not wait for each other. The
    closed form charges (N-1) latencies: one start after another; nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> len(pairwise_all_to_all(4))
    12
    """
    odd = ranks - 1 + ranks % 2  # a round-robin tournament: rounds in which all ranks pair up

    def sends() -> Iterator[Send]:
        for step in range(odd):
            alone = step * (odd + 1) // 2 % odd  # would meet itself: the last one's partner, if any
            partners = [(step - rank) % odd for rank in range(odd)] + [alone]
            partners[alone] = odd
            for rank, other in enumerate(partners[:ranks]):
                if other < ranks:
                    yield send(step, rank, other, other, into=rank)

    return schedule(sends(), ranks, ranks, collective="all_to_all", name="pairwise all-to-all")


def _folded(ranks: int, chunks: int, steps: int, core: Iterable[Send]) -> Iterator[Send]:
    """Let ranks beyond the last power of two hand in their part before and get the sum after."""
    power = 1 << (ranks.bit_length() - 1)
    yield from (row._replace(step=row.step + 1) for row in core)
    for rank, c in product(range(power, ranks), range(chunks)):
        yield send(0, rank, rank - power, c, add=True)
        yield send(steps + 1, rank - power, rank, c)


def recursive_doubling_all_reduce(ranks: int) -> Schedule:
    """Return the all-reduce in which partners twice as far apart swap all they have.

    Parameters
    ----------
    ranks : int
        Number N of GPUs; beyond a power of two, the rest hand in their parts first.

    Formula: log2(N)(a + M/B); Thakur, Rabenseifner and Gropp 2005.
    Lesson 06.

    >>> len(recursive_doubling_all_reduce(8))
    24
    """
    levels = ranks.bit_length() - 1
    core = (send(level, rank, rank ^ (1 << level), 0, add=True)
            for level in range(levels) for rank in range(1 << levels))
    return schedule(_folded(ranks, 1, levels, core), ranks, 1, name="recursive doubling")


def halving_doubling_all_reduce(ranks: int) -> Schedule:
    """Return the all-reduce that halves what is sent at each step, then doubles it again.

    Parameters
    ----------
    ranks : int
        Number N of GPUs; beyond a power of two, the rest hand in their parts first.

    Formula: 2 log2(N) a + 2(N-1)/N M/B; Thakur, Rabenseifner and Gropp 2005.
    Lesson 06.

    >>> len(halving_doubling_all_reduce(8))
    112
    """
    levels = ranks.bit_length() - 1
    power = 1 << levels

    def core() -> Iterator[Send]:
        for level in range(levels):
            span = power >> (level + 1)  # partners are this far apart, and swap this many chunks
            for rank, c in product(range(power), range(span)):
                other = rank ^ span
                yield send(level, rank, other, other // span * span + c, add=True)
                yield send(2 * levels - 1 - level, rank, other, rank // span * span + c)

    sends = _folded(ranks, power, 2 * levels, core())
    return schedule(sends, ranks, power, name="halving-doubling")


def _tree_parent(rank: int, ranks: int) -> int:
    """The parent in a binary tree with root 0 in which every odd rank is a leaf."""
    bit = rank & -rank
    up = (rank ^ bit) | (bit << 1)
    return up if up < ranks else rank ^ bit


def _double_tree(ranks: int) -> list[dict[int, int]]:
    """The parents in two trees; a rank is a leaf in at least one of them."""
    first = {rank: _tree_parent(rank, ranks) for rank in range(1, ranks)}
    moved = [(rank + 1) % ranks if ranks % 2 else ranks - 1 - rank for rank in range(ranks)]
    return [first, {moved[rank]: moved[up] for rank, up in first.items()}]


def _depth(rank: int, parents: dict[int, int]) -> int:
    return 1 + _depth(parents[rank], parents) if rank in parents else 0


def double_tree_all_reduce(ranks: int, pieces: int = 8) -> Schedule:
    """Return the all-reduce over two binary trees that carry half of the message each.

    Parameters
    ----------
    ranks : int
        Number N of GPUs.
    pieces : int
        Parts of each half that follow each other up and down its tree.

    Formula: 2 log2(N) a + 2M/B for many pieces; Sanders, Speck and Traeff 2009.
    Lesson 06.

    >>> len(double_tree_all_reduce(8, pieces=1))
    28
    """

    def sends() -> Iterator[Send]:
        for half, parents in enumerate(_double_tree(ranks)):
            depth = [_depth(rank, parents) for rank in range(ranks)]
            for (rank, up), piece in product(sorted(parents.items()), range(pieces)):
                chunk, top = half * pieces + piece, piece + max(depth)
                yield send(top - depth[rank], rank, up, chunk, add=True)
                yield send(top + depth[rank] - 1, up, rank, chunk)

    return schedule(sends(), ranks, 2 * pieces, name="double tree")


def in_switch_all_reduce(ranks: int, pieces: int = 16) -> Schedule:
    """Return the all-reduce in which the switch adds (NVLink SHARP, NVLS).

    Parameters
    ----------
    ranks : int
        Number N of GPUs; each looks after 1/N of the message.
    pieces : int
        Parts of each share that follow each other.

    All ranks send a part up, the switch hands its owner the sum, the owner sends it up once
    more and the switch copies it to all. Formula: M(N+1)/(N B) for many pieces; NCCL's NVLS.
    Lesson 06.

    >>> len(in_switch_all_reduce(8, pieces=1))
    136
    """

    def sends() -> Iterator[Send]:
        for piece, owner in product(range(pieces), range(ranks)):
            chunk = owner * pieces + piece
            for rank in range(ranks):
                yield send(piece, rank, ranks, chunk, add=True)
                yield send(piece + (1 if rank == owner else 3), ranks, rank, chunk)
            yield send(piece + 2, owner, ranks, chunk)

    return schedule(sends(), ranks, ranks * pieces, name="in-switch all-reduce")


def hierarchical_all_reduce(ranks: int, domain: int) -> Schedule:
    """Return the all-reduce in three acts: add inside each domain, across domains, hand out.

    Parameters
    ----------
    ranks : int
        Number N of GPUs over all domains.
    domain : int
        GPUs g of a domain, which are neighbours in rank order.

    Raises
    ------
    ValueError
        If the ranks do not fill at least two domains of at least two GPUs.

    Formula: 2(g-1)/g M/B + 2(k-1)/k (M/g)/Bnic for k domains; the acts follow each other.
    Lesson 08.

    >>> len(hierarchical_all_reduce(8, 4))
    112
    """
    k = ranks // max(domain, 1)
    if domain < 2 or k < 2 or k * domain != ranks:
        raise ValueError(f"{ranks} ranks do not fill two or more domains of {domain}; choose a "
                         "domain size of at least 2 that divides the ranks.")
    inside = np.arange(ranks).reshape(k, domain)
    shares = np.broadcast_to(np.arange(ranks).reshape(domain, k), (k, domain, k))
    across, parts = inside.T, np.arange(ranks).reshape(domain, k, 1)
    return from_phases("hierarchical all-reduce", "all_reduce", ranks, ranks,
                       _ring_phase(inside, shares, 0, add=True),
                       _ring_phase(across, parts, domain - 1, add=True),
                       _ring_phase(across, parts, domain + k - 2, add=False),
                       _ring_phase(inside, shares, domain + 2 * k - 3, add=False))
