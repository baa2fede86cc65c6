"""The algorithms of the collectives, each as a schedule."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from nvlearn.collectives.schedule import Schedule, Send, from_phases, schedule, send


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
