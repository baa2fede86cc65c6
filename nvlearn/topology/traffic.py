"""Traffic on a topology: who sends to whom, what share each flow gets, which rings there are."""

from collections.abc import Iterable
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

import numpy as np

from nvlearn.formulas.checks import require
from nvlearn.topology.graph import FloatArray, Topology

Flow = tuple[int, int]
Pattern = list[Flow]


def all_to_all_pattern(ranks: int) -> Pattern:
    """Return the flows of every rank to every other.

    Parameters
    ----------
    ranks : int
        Number of GPUs.

    Lesson 04.

    >>> all_to_all_pattern(2)
    [(0, 1), (1, 0)]
    """
    return [(a, b) for a in range(ranks) for b in range(ranks) if a != b]


def neighbour_pattern(ranks: int) -> Pattern:
    """Return the flows of a ring, from each rank to the next.

    Parameters
    ----------
    ranks : int
        Number of GPUs.

    Lesson 04.

    >>> neighbour_pattern(3)
    [(0, 1), (1, 2), (2, 0)]
    """
    return [(rank, (rank + 1) % ranks) for rank in range(ranks)]


class Loads(NamedTuple):
    """What a pattern does to a topology: a rate for each flow and a load for each bundle.

    ``rates`` and ``load`` are bytes/s, one way; ``load`` and ``utilisation`` follow
    ``Topology.bundles``.
    """

    pattern: Pattern
    rates: FloatArray
    load: FloatArray
    utilisation: FloatArray

    @property
    def delivered(self) -> float:
        """Return the bytes per second that arrive, over all flows.

        Lesson 04.

        >>> from nvlearn.topology import ring
        >>> round(loads(ring(8, 25e9), all_to_all_pattern(8)).delivered / 1e9)
        175
        """
        return float(self.rates.sum())


def loads(topology: Topology, pattern: Iterable[Flow], demand: float = np.inf) -> Loads:
    """Return the max-min fair rates of a pattern and the load of each link.

    Parameters
    ----------
    topology : Topology
        The machine.
    pattern : iterable of (int, int)
        Flows from rank to rank, each split evenly over its best routes where there are several.
    demand : float
        Bytes/s that each flow wants at most; without it, all it can get.

    Raises
    ------
    ValueError
        If the pattern is empty, a flow has no route or goes from a rank to itself, or the demand
        is not above 0.

    Progressive filling: all flows grow together; when a link is full, its flows stop; Bertsekas
    and Gallager, "Data Networks" 1987, section 6.5.2.
    Lesson 04.

    >>> from nvlearn.topology import ring
    >>> loads(ring(4, 25e9), [(0, 1), (0, 2)]).rates.tolist()
    [16666666666.666666, 16666666666.666666]
    """
    flows = list(pattern)
    loops = [flow for flow in flows if flow[0] == flow[1]]
    require(bool(flows) and not loops and demand > 0, "A pattern needs flows between two different "
            f"ranks, got {loops}, and a demand above 0, got {demand}")
    crossings = [(i, link, 1 / len(routes)) for i, ends in enumerate(flows)
                 for routes in [topology.routes(*ends)] for route in routes for link in route]
    flow, link, weight = (np.array(column) for column in zip(*crossings, strict=True))
    cap = topology.capacities
    rates = _fill(flow, link, weight, cap, demand)
    load: FloatArray = np.bincount(link, weight * rates[flow], len(cap)).astype(float)
    return Loads(flows, rates, load, np.divide(load, cap, out=np.zeros_like(load), where=cap > 0))


def _fill(flow: Any, link: Any, weight: Any, cap: FloatArray, most: float) -> FloatArray:
    """Grow all flows together; freeze those of a link that is full, and those that have most."""
    rates = np.zeros(flow.max() + 1)
    growing = np.ones(len(rates), dtype=bool)
    left = cap.copy()
    while growing.any():
        demand = np.bincount(link, weight * growing[flow], len(cap))
        room = np.divide(left, demand, out=np.full(len(cap), np.inf), where=demand > 0)
        step = min(room.min(), most - rates[growing].max())
        rates[growing] += step
        left = np.maximum(left - step * demand, 0.0)
        full = room <= step * (1 + 1e-12)
        growing[flow[full[link]]] = False
        growing &= rates < most
    return rates


Ring = tuple[int, ...]
#: 7!/2 = 2,520 candidate rings for 8 GPUs; 10 would be 181,440.
MOST_GPUS = 9


def rings(topology: Topology) -> list[Ring]:
    """Return every ring through all GPUs over direct links, each once and starting at GPU 0.

    Parameters
    ----------
    topology : Topology
        A mesh of 3 to 9 GPUs.

    Raises
    ------
    ValueError
        If there are fewer than 3 GPUs or more than 9.

    Source: enumeration of Hamiltonian cycles, up to direction.
    Lesson 04.

    >>> from nvlearn.topology import full_mesh
    >>> rings(full_mesh(4, 25e9))
    [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)]
    """
    require(2 < topology.ranks <= MOST_GPUS, f"Rings are searched on 3 to {MOST_GPUS} GPUs; "
            f"{topology.name} has {topology.ranks}. Search one board of a larger machine")
    joined = topology.link_matrix() > 0
    orders = ((0, *rest) for rest in permutations(range(1, topology.ranks)) if rest[0] < rest[-1])
    return [order for order in orders if joined[order, (*order[1:], 0)].all()]


def disjoint_rings(topology: Topology, count: int) -> list[tuple[Ring, ...]]:
    """Return every choice of rings that share no link; a doubled link may serve two of them.

    Parameters
    ----------
    topology : Topology
        A mesh of 3 to 9 GPUs.
    count : int
        Rings to choose.

    Returns
    -------
    list of tuples of rings
        A ring stands twice in a choice where it runs over doubled links only.

    Raises
    ------
    ValueError
        If there are fewer than 3 GPUs or more than 9, or the count is below 1.

    Source: NCCL's channels on DGX-1; facts checked on the V100 matrix (13 choices of three).
    Lesson 04.

    >>> from nvlearn.topology import system
    >>> len(disjoint_rings(system("DGX-1 V100"), 3))
    13
    """
    require(count >= 1, f"Choose at least one ring, not {count}")
    found = rings(topology)
    used = np.zeros((len(found), topology.ranks, topology.ranks), dtype=np.int64)
    for matrix, order in zip(used, found, strict=True):
        matrix[order, (*order[1:], 0)] = matrix[(*order[1:], 0), order] = 1
    links, choices = topology.link_matrix(), combinations_with_replacement(range(len(found)), count)
    return [tuple(found[i] for i in choice) for choice in choices
            if (used[list(choice)].sum(axis=0) <= links).all()]
