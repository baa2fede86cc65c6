"""Find the rings that a mesh of NVLinks carries, as NCCL lays them for its channels."""

from itertools import combinations_with_replacement, permutations

import numpy as np

from nvlearn.topology.graph import Topology

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
    if not 2 < topology.ranks <= MOST_GPUS:
        raise ValueError(f"Rings are searched on 3 to {MOST_GPUS} GPUs; {topology.name} has "
                         f"{topology.ranks}. Search one board of a larger machine.")
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
    if count < 1:
        raise ValueError(f"Choose at least one ring, not {count}.")
    found = rings(topology)
    used = np.zeros((len(found), topology.ranks, topology.ranks), dtype=np.int64)
    for matrix, order in zip(used, found, strict=True):
        matrix[order, (*order[1:], 0)] = matrix[(*order[1:], 0), order] = 1
    links, choices = topology.link_matrix(), combinations_with_replacement(range(len(found)), count)
    return [tuple(found[i] for i in choice) for choice in choices
            if (used[list(choice)].sum(axis=0) <= links).all()]
