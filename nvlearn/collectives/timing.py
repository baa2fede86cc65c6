"""How long a schedule takes on a topology: the trace of every transfer."""

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nvlearn.collectives.schedule import Schedule, chunk_sizes
from nvlearn.topology import Topology
from nvlearn.topology.graph import FloatArray, IntArray

Route = tuple[int, ...]
BLOCK = 1 << 15  # transfers looked at together, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class Trace:
    """When every transfer of a schedule started and ended: columns, one entry a transfer.

    ``start`` and ``end`` are seconds: the first byte enters the first link, the last has arrived.
    """

    schedule: Schedule
    topology: Topology
    message: int
    start: FloatArray
    end: FloatArray
    pair: IntArray
    routes: list[Route]

    @property
    def seconds(self) -> float:
        """The time until the last byte has arrived."""
        return float(self.end.max(initial=0.0))

    @cached_property
    def bytes(self) -> IntArray:
        """The size of each transfer."""
        return chunk_sizes(self.message, self.schedule.chunks)[self.schedule.chunk]

    @cached_property
    def link(self) -> IntArray:
        """The narrowest bundle on each transfer's route, an index into ``topology.bundles``."""
        cap = self.topology.capacities
        return np.array([min(r, key=lambda i: cap[i]) for r in self.routes])[self.pair]

    @cached_property
    def link_bytes(self) -> FloatArray:
        """How many bytes crossed each bundle of the topology."""
        sent = np.bincount(self.pair, self.bytes, len(self.routes))
        crossed = np.zeros(len(self.topology.bundles))
        for route, amount in zip(self.routes, sent, strict=True):
            crossed[list(route)] += amount
        return crossed

    @cached_property
    def utilisation(self) -> FloatArray:
        """The share of the whole time that each bundle was busy."""
        cap = self.topology.capacities * self.seconds
        return np.divide(self.link_bytes, cap, out=np.zeros_like(cap), where=cap > 0)

    def rows(self) -> list[tuple[int, int, int, int, int, float, float]]:
        """Return the trace as rows: step, from, to, chunk, bytes, start, end."""
        s = self.schedule
        columns = (s.step, s.source, s.target, s.chunk, self.bytes, self.start, self.end)
        return list(zip(*(column.tolist() for column in columns), strict=True))


def time(plan: Schedule, topology: Topology, message: float, alpha: float = 0.0) -> Trace:
    """Return the trace of a schedule on a topology.

    Parameters
    ----------
    plan : Schedule
        What is sent; its ranks are the topology's GPUs 0, 1, ...
    topology : Topology
        Where it is sent; switches pass bytes on as they come (cut-through).
    message : float
        Size M of each rank's array, bytes, as nccl-tests counts it.
    alpha : float
        Latency of a transfer in seconds: it delays the arrival and leaves the link free.

    Raises
    ------
    ValueError
        If the topology has too few GPUs, no route for a transfer (named), or no switch that
        reduces where the schedule uses one; if the message or alpha is below 0.

    A transfer waits for all chunks that arrived in its place in earlier steps, and takes what is
    there then, so that a later arrival does not change what is on its way. A sender uses a link in
    the order of the schedule; where senders meet, the link serves first come, first served.
    Formula on a uniform ring: 2(N-1)(alpha + M/(N B)), Patarasuk and Yuan 2009.
    Lesson 06.

    >>> from nvlearn.collectives import ring_all_reduce
    >>> from nvlearn.topology import ring
    >>> round(time(ring_all_reduce(8), ring(8, 450e9), 14e9, 1e-6).seconds * 1e3, 4)
    54.4584
    """
    if not (0 <= message < np.inf and 0 <= alpha < np.inf):
        raise ValueError(f"Message ({message} bytes) and latency ({alpha} s) must be 0 or more.")
    if plan.ranks > topology.ranks:
        raise ValueError(f"{plan.name} needs {plan.ranks} GPUs; {topology.name} has "
                         f"{topology.ranks}. Choose fewer ranks or a larger machine.")
    pairs, pair = plan.pairs
    routes = [_route(plan, topology, *ends) for ends in pairs]
    sizes = chunk_sizes(int(message), plan.chunks)
    facts = (plan, topology.capacities.tolist(), sizes, routes, alpha)
    start, end = _waves(*facts) or _events(*facts)
    return Trace(plan, topology, int(message), start, end, pair, routes)


def _route(plan: Schedule, topology: Topology, source: int, target: int) -> Route:
    if plan.ranks not in (source, target):
        return topology.routes(source, target)[0]
    reducing = [n for n, data in topology.fabric.nodes(data=True) if data.get("reduces")]
    gpu = topology.gpus[min(source, target)]
    if len(reducing) != 1 or not topology.fabric.has_edge(gpu, reducing[0]):
        raise ValueError(f"{plan.name} adds in the switch, and {topology.name} has no single "
                         "NVSwitch board that can (NVSwitch 3 and later do); use a ring or tree.")
    ends = (gpu, reducing[0]) if target == plan.ranks else (reducing[0], gpu)
    edge = topology.fabric.edges[ends]
    if not edge["capacity"]:
        raise ValueError(f"The links {ends[0]}-{ends[1]} of {topology.name} are out of order.")
    return (edge["index"],)


def _waves(plan: Schedule, cap: list[float], sizes: IntArray, routes: list[Route],
           alpha: float) -> tuple[FloatArray, FloatArray] | None:
    """Time whole steps at once, or return None where that would not be exact.

    It is exact when all steps are alike and every link carries one pair, the first of a route
    being its narrowest: then the queue of the first link is the schedule's own order.
    """
    links = [link for route in routes for link in route]
    parent, (older, newer), single = plan.parents
    if plan.grid is None or not single or len(set(links)) < len(links):
        return None
    if any(cap[route[0]] > min(cap[link] for link in route) for route in routes):
        return None
    here, shape = plan.grid[0], plan.grid.shape
    narrow = np.array([cap[route[0]] for route in routes])[here]
    start, end = np.split(np.empty(2 * len(plan) + 1), [len(plan)])
    end[-1] = 0.0  # what a transfer that waits for nothing waits for
    free = np.zeros(len(here))
    # Until a transfer's end is known, its time on the link stands there (one array less to read).
    sizes.astype(float).take(plan.chunk, out=end[:-1], mode="clip")
    starts, ends, waits = (column.reshape(shape) for column in (start, end[:-1], parent))
    ends /= narrow
    for begin, finish, wait in zip(starts, ends, waits, strict=True):
        end.take(wait, out=begin, mode="clip")
        np.maximum(begin, free, out=begin)
        np.add(begin, finish, out=free)
        np.add(free, alpha, out=finish)
    # A transfer waits for all arrivals in its place: an older one must not come later.
    for block in (slice(i, i + BLOCK) for i in range(0, len(older), BLOCK)):
        if (end[older[block]] > end[newer[block]]).any():
            return None
    return start, end[:-1]


def _events(plan: Schedule, cap: list[float], sizes: IntArray, routes: list[Route],
            alpha: float) -> tuple[FloatArray, FloatArray]:
    """Time one transfer after another, in the order in which things happen."""
    step, source, size = plan.step.tolist(), plan.source.tolist(), sizes[plan.chunk].tolist()
    writes = (plan.target * plan.chunks + plan.into).tolist()
    route = [routes[pair] for pair in plan.pairs[1]]
    start, end = np.zeros((2, len(plan)))
    free = [0.0] * len(cap)
    lines = defaultdict[tuple[int, int], deque[int]](deque)
    readers = defaultdict[int, list[int]](list)
    for t, place in enumerate((plan.source * plan.chunks + plan.chunk).tolist()):
        lines[source[t], route[t][0]].append(t)  # a sender uses its link in the schedule's order
        readers[place].append(t)
    # How many arrivals of earlier steps, in the place that it reads, a transfer still waits for.
    waits = [0] * len(plan)
    for other, place in enumerate(writes):
        for t in readers[place]:
            waits[t] += step[other] < step[t]
    events: list[tuple[float, int, int]] = []  # time, transfer, hop; past the last hop: arrival

    def release(now: float, line: deque[int]) -> None:
        while line and not waits[line[0]]:
            heapq.heappush(events, (now, line.popleft(), 0))

    for line in lines.values():
        release(0.0, line)
    while events:
        now, t, hop = heapq.heappop(events)
        if hop == len(route[t]):
            end[t] = now
            for later in readers[writes[t]]:
                waits[later] -= step[t] < step[later]
                release(now, lines[source[later], route[later][0]])
            continue
        link = route[t][hop]
        begin = max(now, free[link])
        free[link] = done = begin + size[t] / cap[link]
        if not hop:
            start[t] = begin
        then = done + alpha
        if hop + 1 < len(route[t]):
            # A faster link waits until it can pass all on without a pause: no byte is early, and
            # none takes more of the link than it needs.
            then = max(begin, done - size[t] / cap[route[t][hop + 1]])
        heapq.heappush(events, (then, t, hop + 1))
    return start, end
