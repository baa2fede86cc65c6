"""Boards and fabrics as graphs: links, routes, hops, cuts and what happens when a link is lost."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from itertools import combinations, combinations_with_replacement, pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nvlearn.formulas.checks import require

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
#: Splitting n GPUs into halves is tried exhaustively up to this n (126 splits for 10).
EXHAUSTIVE = 10


class Bundle(NamedTuple):
    """All parallel links from one station to the next, which share whatever is sent along them."""

    source: str
    target: str
    kind: str
    links: int
    capacity: float
    nominal: float


class Topology:
    """A machine as a directed multigraph in which every physical link is one edge each way.

    Parameters
    ----------
    graph : networkx.MultiDiGraph
        Nodes carry ``kind`` ("gpu", "nvswitch", "pcie_switch", "host", "nic", "network"),
        ``group`` (switch chips with the same group act as one) and ``reduces`` (the switch can
        add, as NVSwitch 3 and later can). Edges carry ``kind`` ("nvlink",
        "pcie", "socket", "network"), ``capacity`` and ``nominal`` (bytes/s, one way). GPUs are
        named GPU0, GPU1, ... and their number is their rank.
    name : str
        What the machine is called.
    relay : bool
        Whether a GPU passes on traffic of others. NVLink hardware does not.

    Raises
    ------
    ValueError
        If the graph holds no GPU.

    Stations are compared by bundles, see `Bundle`: a doubled link is two edges and one bundle.
    Source: NVIDIA Fabric Manager User Guide, "GPU Baseboard Topologies".
    Lesson 04.

    >>> from nvlearn.topology import ring
    >>> ring(4, 25e9).diameter()
    2
    """

    def __init__(self, graph: Any, name: str, *, relay: bool = False) -> None:
        self.graph, self.name, self.relay = graph, name, relay
        self.gpus = [n for n, kind in graph.nodes(data="kind") if kind == "gpu"]
        self.ranks = len(self.gpus)
        require(self.ranks > 0, f"{name} has no GPU; add at least one node of kind 'gpu'")
        self._routes, self._towards = cache(self._find_routes), cache(self._search)

    def __repr__(self) -> str:
        return f"<Topology {self.name}: {self.ranks} GPUs, {self.graph.size() // 2} links>"

    # ---- bundles -----------------------------------------------------------------------------

    @cached_property
    def fabric(self) -> Any:
        """The same machine with parallel links and interchangeable switch chips merged."""
        import networkx as nx

        group = {n: data.get("group", n) for n, data in self.graph.nodes(data=True)}
        fabric = nx.DiGraph()
        for node, data in self.graph.nodes(data=True):
            fabric.add_node(group[node], kind=data["kind"], reduces=data.get("reduces", False))
        for u, v, data in self.graph.edges(data=True):
            ends = group[u], group[v]
            if ends not in fabric.edges:
                fabric.add_edge(*ends, kind=data["kind"], index=fabric.size(), links=0,
                                capacity=0.0, nominal=0.0)
            edge = fabric.edges[ends]
            edge["links"] += 1
            edge["capacity"] += data["capacity"]
            edge["nominal"] += data["nominal"]
        return fabric

    @cached_property
    def bundles(self) -> list[Bundle]:
        """All bundles in the order of their index, which routes and traces refer to."""
        return [Bundle(u, v, d["kind"], d["links"], d["capacity"], d["nominal"])
                for u, v, d in self.fabric.edges(data=True)]

    @cached_property
    def capacities(self) -> FloatArray:
        """The capacity of each bundle, bytes/s one way, in the order of `bundles`."""
        return np.array([bundle.capacity for bundle in self.bundles])

    def _gpu(self, rank: int) -> str:
        require(0 <= rank < self.ranks,
                f"{self.name} has no GPU {rank}; it has 0 to {self.ranks - 1}")
        return str(self.gpus[rank])

    # ---- links and hops ----------------------------------------------------------------------

    def link_matrix(self) -> IntArray:
        """Return how many NVLinks join each pair, as ``nvidia-smi topo -m`` counts them.

        Returns
        -------
        int array, shape (GPUs, GPUs)
            Working direct links of a pair; through switches, those that leave the GPU.

        Source: the NV# entries of ``nvidia-smi topo -m``.
        Lesson 04.

        >>> from nvlearn.topology import ring
        >>> ring(4, 25e9).link_matrix()[0].tolist()
        [0, 1, 0, 1]
        """
        rank = {gpu: i for i, gpu in enumerate(self.gpus)}
        links = np.zeros((self.ranks, self.ranks + 1), dtype=np.int64)  # last: to switches
        for u, v, data in self.graph.edges(data=True):
            if u in rank and data["kind"] == "nvlink" and data["capacity"]:
                links[rank[u], rank.get(v, -1)] += 1
        own, through = links[:, :-1], np.minimum.outer(links[:, -1], links[:, -1])
        return np.where((self.hop_matrix(relay=False) > 0) & (own == 0), through, own)

    def hop_matrix(self, kind: str | None = "nvlink", *, relay: bool = True) -> IntArray:
        """Return the fewest links between each pair of GPUs.

        Parameters
        ----------
        kind : str or None
            Only links of this kind are walked; None walks all.
        relay : bool
            Whether the walk may pass through other GPUs.

        Returns
        -------
        int array, shape (GPUs, GPUs)
            Links walked; -1 where there is no way. One switch between two GPUs makes two links.

        Lesson 04.

        >>> from nvlearn.topology import ring
        >>> ring(6, 25e9).hop_matrix()[0].tolist()
        [0, 1, 2, 3, 2, 1]
        """
        import networkx as nx

        # Where no GPU relays, a way into one ends there: at a node of its own, with no way out.
        ends = {gpu: gpu if relay else f"at {gpu}" for gpu in self.gpus}
        ways = nx.DiGraph()
        ways.add_nodes_from(self.gpus)
        ways.add_edges_from((u, ends.get(v, v)) for u, v, data in self.fabric.edges(data=True)
                            if kind in (None, data["kind"]) and data["capacity"] > 0)
        found = [nx.single_source_shortest_path_length(ways, gpu) for gpu in self.gpus]
        matrix = np.array([[hops.get(end, -1) for end in ends.values()] for hops in found])
        np.fill_diagonal(matrix, 0)
        return matrix

    def diameter(self, kind: str | None = "nvlink") -> int:
        """Return the most links that lie between any two GPUs.

        Parameters
        ----------
        kind : str or None
            Only links of this kind are walked; None walks all.

        Raises
        ------
        ValueError
            If some pair is not joined by links of this kind.

        Formula: max over pairs of `hop_matrix`.
        Lesson 04.

        >>> from nvlearn.topology import ring
        >>> ring(8, 25e9).diameter()
        4
        """
        hops = self.hop_matrix(kind)
        if (hops < 0).any():
            a, b = np.argwhere(hops < 0)[0]
            raise ValueError(f"GPU {a} and GPU {b} of {self.name} are not joined by {kind} links, "
                             "so it has no diameter; ask with kind=None to walk all links.")
        return int(hops.max())

    # ---- routes ------------------------------------------------------------------------------

    def routes(self, source: int, target: int) -> list[tuple[int, ...]]:
        """Return the best routes between two GPUs; several where they are equally good.

        Parameters
        ----------
        source, target : int
            Ranks.

        Returns
        -------
        list of tuples
            Each route is the indices of its bundles in order.

        Raises
        ------
        ValueError
            If no route is left, naming the two GPUs and the links that are out of order.

        The rule: the least sum of 1 / nominal bandwidth over links that work; other GPUs are
        passed through only on a topology with ``relay``. A slow link is still taken, as on a
        real machine; a broken one is not.
        Lesson 04.

        >>> from nvlearn.topology import ring
        >>> [len(route) for route in ring(4, 25e9).routes(0, 2)]
        [2, 2]
        """
        return self._routes(self._gpu(source), self._gpu(target))

    def _find_routes(self, a: str, b: str) -> list[tuple[int, ...]]:
        edges = self.fabric.edges
        direct = self.fabric.get_edge_data(a, b, {"capacity": 0})
        # No way over two links can be as good as one of more than half their bandwidth.
        if direct["capacity"] and 2 * direct["nominal"] > self._widest:
            return [(direct["index"],)]

        def walks(node: str) -> list[list[str]]:
            return [[a]] if node == a else [
                [*walk, node] for before in self._towards(a)[node] for walk in walks(before)]

        if b not in self._towards(a):
            broken = ", ".join(f"{x.source}-{x.target}" for x in self.bundles if not x.capacity)
            raise ValueError(f"{self.name} has no route from {a} to {b}"
                             f"{f' (out of order: {broken})' if broken else ''}; "
                             "send over GPUs that are joined, or allow relaying with relay=True.")
        return [tuple(edges[hop]["index"] for hop in pairwise(walk)) for walk in walks(b)]

    @cached_property
    def _widest(self) -> float:
        return max(bundle.nominal for bundle in self.bundles)

    def _search(self, start: str) -> dict[str, list[str]]:
        """For each station the ones before it on the best ways from a GPU."""
        import networkx as nx

        kinds = self.fabric.nodes(data="kind")

        def cost(u: str, _v: str, data: dict[str, Any]) -> float | None:
            blocked = kinds[u] == "gpu" and u != start and not self.relay
            # Rounded, so that equally good routes compare equal.
            return None if blocked or not data["capacity"] else round(1e15 / data["nominal"])

        before: dict[str, list[str]] = nx.dijkstra_predecessor_and_distance(
            self.fabric, start, weight=cost)[0]
        return before

    # ---- cuts --------------------------------------------------------------------------------

    def cut(self, side: Iterable[int]) -> float:
        """Return how many bytes per second can leave a set of GPUs for all the others.

        Parameters
        ----------
        side : iterable of int
            Ranks on the sending side.

        Returns
        -------
        float
            Bytes/s, one way: the maximum flow, which equals the smallest cut.

        Raises
        ------
        ValueError
            If the side is empty, or holds every GPU.

        Source: max-flow min-cut theorem, Ford and Fulkerson 1956.
        Lesson 04.

        >>> from nvlearn.topology import full_mesh
        >>> full_mesh(4, 25e9).cut([0, 1])
        100000000000.0
        """
        import networkx as nx

        chosen = {self._gpu(rank) for rank in side}
        require(0 < len(chosen) < self.ranks, f"A cut of {self.name} needs GPUs on both sides; it "
                f"has {self.ranks}, and {len(chosen)} were put on one side")
        graph = self.fabric.copy()
        for gpu in self.gpus:
            # An edge without a capacity has no limit.
            graph.add_edge(*(("source", gpu) if gpu in chosen else (gpu, "sink")))
        return float(nx.maximum_flow_value(graph, "source", "sink"))

    def bisection(self) -> float:
        """Return the smallest bandwidth between two halves of the GPUs.

        Returns
        -------
        float
            Bytes/s, one way. Exact up to 10 GPUs; beyond, the smallest over the splits of the
            rank order into two runs, which is exact for rings, boards and racks.

        Formula: min over halves of `cut`.
        Lesson 04.

        >>> from nvlearn.topology import ring
        >>> ring(8, 25e9).bisection()
        50000000000.0
        """
        n, half = self.ranks, self.ranks // 2
        sides = [[r % n for r in range(first, first + half)] for first in range((n + 1) // 2)]
        if n <= EXHAUSTIVE:  # of an even number, half of the choices are the other side of others
            sides = [[*side] for side in combinations(range(n), half) if n % 2 or 0 in side]
        return min(self.cut(side) for side in sides)

    # ---- faults ------------------------------------------------------------------------------

    def _changed(self, a: int, b: int, links: int | None, factor: float, word: str) -> Topology:
        graph = self.graph.copy()
        first, second = self._gpu(a), self._gpu(b)
        keys = list(graph[first].get(second, ()))
        require(1 <= (links or 1) <= len(keys), f"{self.name} has {len(keys)} links between "
                f"{first} and {second}, so {'all' if links is None else links} cannot be {word}; "
                "see link_matrix()")
        for key in keys[:links]:
            for edge in ((first, second, key), (second, first, key)):
                graph.edges[edge]["capacity"] *= factor
        return Topology(graph, f"{self.name}, {first}-{second} {word}", relay=self.relay)

    def without_link(self, a: int, b: int, links: int | None = None) -> Topology:
        """Return the machine with links between two GPUs out of order.

        Parameters
        ----------
        a, b : int
            Ranks that are joined directly.
        links : int or None
            How many of the parallel links fail; None means all.

        Raises
        ------
        ValueError
            If there are fewer links than that between the two.

        Lesson 06.

        >>> from nvlearn.topology import ring
        >>> int(ring(4, 25e9).without_link(0, 1).hop_matrix()[0, 1])
        3
        """
        return self._changed(a, b, links, 0.0, "broken")

    def with_slow_link(self, a: int, b: int, factor: float) -> Topology:
        """Return the machine with all links between two GPUs slowed down.

        Parameters
        ----------
        a, b : int
            Ranks that are joined directly.
        factor : float
            The share of the bandwidth that is left, above 0 and at most 1.

        Raises
        ------
        ValueError
            If the factor is out of range, or the two are not joined.

        Lesson 06.

        >>> from nvlearn.topology import ring
        >>> ring(4, 25e9).with_slow_link(0, 1, 0.5).cut([0])
        37500000000.0
        """
        require(0 < factor <= 1, "A slow link keeps a share above 0 and at most 1 of its "
                f"bandwidth, not {factor}; use without_link for a broken one")
        return self._changed(a, b, None, factor, "slow")


# --- traffic: who sends to whom, what share each flow gets, which rings there are


Pattern = list[tuple[int, int]]


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


def loads(topology: Topology, pattern: Iterable[tuple[int, int]], demand: float = np.inf) -> Loads:
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
