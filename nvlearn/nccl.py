"""A cost model in NCCL's own structure: time, bandwidth and the winner, and its fit to a table.

Predicted time = offset + latency + M / (efficiency x bandwidth) of the algorithm and protocol that
NCCL picks by its own estimate, which knows neither offset nor efficiency. Constants are those of
NCCL 2.30.7 (`data/nccl.toml`); measured tables ship with the course (`data/published.toml`).
Seconds, bytes, bytes/s one way.
"""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nvlearn import catalog, formulas, units
from nvlearn.data import read_table, read_text
from nvlearn.i18n import words
from nvlearn.topology.graph import FloatArray, Topology

#: What NCCL itself has; "hierarchical" is compared only where it is asked for by name.
ALGORITHMS = ("ring", "tree", "nvls", "nvls_tree", "direct")
PROTOCOLS, COLLECTIVES = ("LL", "LL128", "Simple"), tuple(formulas.PASSES)
Costs = tuple[FloatArray, FloatArray]  # latency in s and algbw in bytes/s, a row for each protocol


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Domains of GPUs as NCCL sees them; every rate is bytes/s, one way.

    A GPU has `links` NVLinks that yield `per_link` each, and a way of `pcie` where there are none.
    `mesh` is the matrix of links, empty behind a switch; `reduces` tells whether the switch adds.
    Each of `domains` domains has `gpus` GPUs and `nics` adapters of `nic_rate`. `offset` (s) is
    what harness and host add to a call, `efficiency` the share of NCCL's bandwidth that is
    reached: `fit` finds these two.
    """

    name: str
    generation: str
    gpus: int
    links: int
    per_link: float
    pcie: float
    nics: int
    nic_rate: float
    domains: int = 1
    cpu: str = "Intel"
    mesh: tuple[tuple[int, ...], ...] = ()
    reduces: bool = False
    offset: float = 0.0
    efficiency: float = 1.0

    @property
    def ranks(self) -> int:
        """All GPUs, one rank each."""
        return self.gpus * self.domains

    def links_of(self, gpus: int) -> int:
        """Return how many NVLinks a ring through the first GPUs of a domain has at each of them.

        Parameters
        ----------
        gpus : int
            How many take part.

        Lesson 07.

        >>> [machine("DGX-1 V100").links_of(n) for n in (2, 4, 5, 8)]
        [1, 4, 0, 6]
        """
        rows = np.array(self.mesh or [[self.links]])[:gpus, :gpus]
        closed = not self.mesh or (rows > 0).sum(axis=1).min(initial=2) >= min(2, gpus - 1)
        return int(rows.sum(axis=1).min(initial=self.links) * closed)


def machine(what: str | Topology, **told: Any) -> Machine:
    """Return a machine of the catalog, or the one that a topology of the course describes.

    Parameters
    ----------
    what : str or Topology
        A name or alias of ``catalog.systems()``; or a topology that `topology.system` built, also
        with broken or slow links, or joined by `topology.cluster`.
    **told
        Fields of `Machine` that differ: gpus, domains, nics, nic_rate and pcie (bytes/s, one way),
        cpu, offset (s), ...

    Raises
    ------
    ValueError
        If no system has that name (the nearest are given), or its domain has fewer GPUs.

    Formula: rate of a GPU = links x what NCCL expects of one (18, 20, 20.6, 40.1 GB/s one way by
    generation), else sixteen lanes of PCIe (12, 24, 48 GB/s), less through host memory; NCCL
    src/graph/topo.h. Adapters are what servers of the time carry. The offset is that of an eager
    program (`nccl.toml`, harness); 0 gives NCCL's own estimate.
    Lesson 07.

    >>> m = machine("DGX H100", domains=2)
    >>> m.generation, m.ranks, round(m.links * m.per_link / 1e9, 1), m.nics
    ('Hopper', 16, 370.8, 8)
    """
    name = what.name if isinstance(what, Topology) else what
    record = catalog.system(re.sub(r"^\d+ x |, GPU.*", "", name))
    card, table = catalog.gpu(record.gpu), read_table("nccl")
    kind = table["generation_of"].get(card.name) or table["generation_of"][card.nvlink]
    base, links = table["generation"][kind], card.links.count
    found: dict[str, Any] = {
        "name": record.name, "generation": kind, "gpus": record.gpus.count, "links": links,
        "per_link": catalog.nvlink(card.nvlink).nccl_per_link.one_way if links else 0.0,
        "pcie": table["through_host"].get(card.name, base["pcie"]) * units.GB,
        "nic_rate": catalog.nic(record.nic or base["nic"]).port_rate.one_way,
        "cpu": "Grace" if card.c2c else base["cpu"], "mesh": record.matrix,
        "reduces": bool(record.switch) and catalog.switch(record.switch).in_network_reduction,
        "offset": table["harness"]["eager"] * units.US}
    found |= (_seen(what, found) if isinstance(what, Topology) else {}) | told
    formulas.require(found["gpus"] <= record.gpus.count, f"{found['gpus']} GPUs were asked for and "
                     f"a {record.name} has {record.gpus.count}; ask for more domains")
    return Machine(**{"nics": max(1, round(found["gpus"] * base["nics_per_gpu"])), **found})


def _seen(what: Topology, found: dict[str, Any]) -> dict[str, Any]:
    """Read working links, the slowest share of one, domains and adapters from a topology."""
    size = what.ranks // (domains := max(1, what.ranks // found["gpus"]))
    matrix = tuple(map(tuple, what.link_matrix()[:size, :size].tolist()))
    slow = min((d["capacity"] / d["nominal"] for *_, d in what.graph.edges(data=True)
                if d["kind"] == "nvlink" and d["capacity"]), default=1.0)
    nics = [b.nominal for b in what.bundles if b.kind == "network" and b.target == "network"]
    seen = {"name": what.name, "gpus": size, "domains": domains, "mesh": found["mesh"] and matrix,
            "per_link": slow * found["per_link"]}
    return seen | ({"nics": len(nics) // domains, "nic_rate": nics[0]} if nics else {})


class Prediction(NamedTuple):
    """What NCCL would take: arrays over sizes and ranks, which broadcast.

    time in s; algbw = M / time; busbw = algbw x factor, the rate at which a ring would load every
    link, one way. Where the switch adds (nvls) links carry algbw x (N + 1) / N instead, so that
    busbw may exceed what a link can do.
    """

    time: FloatArray
    algbw: FloatArray
    busbw: FloatArray
    algorithm: NDArray[np.str_]
    protocol: NDArray[np.str_]


class _At:
    """Who takes part: n = g x k ranks; bus of a GPU inside its domain, net of a whole domain."""

    def __init__(self, m: Machine, collective: str, sizes: ArrayLike, ranks: ArrayLike | None):
        table, self.mesh, self.reduces = read_table("nccl"), m.mesh, m.reduces
        formulas.check(gpus_inside=m.gpus, domains=m.domains, network_bandwidth=m.nic_rate)
        self.told = formulas.pick(table["generation"], m.generation, "generation")
        self.passes = formulas.pick(formulas.PASSES, collective, "collective")
        self.sizes, self.n = np.broadcast_arrays(
            *formulas.check(message=sizes, ranks=m.ranks if ranks is None else ranks))
        formulas.require(self.n > 1, "ranks is 1: nothing moves; ask for 2 or more")
        self.k = np.ceil(self.n / m.gpus)
        self.g = self.n / self.k
        counts = np.array([m.links_of(i) for i in range(m.gpus + 1)])
        self.links = counts[np.ceil(self.g).astype(int)]
        self.bus = np.where(self.links > 0, self.links * m.per_link, m.pcie)
        self.share, nics = table["share"], np.maximum(1, m.nics * self.g / m.gpus)
        self.net = np.where(self.k > 1, nics * m.nic_rate * self.share["network"], np.inf)
        self.twice = self.net * np.where(self.k == 2, 2, 1)  # two domains use both directions
        cpu = formulas.pick(table["cpu"], m.cpu, "CPU")
        self.ll = self.cap([self.told["ll"], *cpu["ll"]])  # bound by the GPU, in several by the CPU
        column = (-1, *(1,) * self.n.ndim)  # protocols stand in front of the other axes
        latency = {**table["latency"], "cpu": cpu}
        self.lat = {(name, part): np.reshape(np.array(values) * units.US, column)
                    for name, parts in latency.items() for part, values in parts.items()}
        self.hop = {name: np.where(self.links > 0, self.lat[name, "nvlink"], self.lat[name, "pcie"])
                    for name in table["latency"]}
        log = np.log2(np.maximum(self.sizes, 64) / 64).astype(int)
        kept = np.array([table["middle"][p] for p in PROTOCOLS])  # by trees at middle sizes
        self.middle = kept[:, np.minimum(log, kept.shape[1] - 1)]

    def cap(self, values: Sequence[float], channels: Any = 1) -> FloatArray:
        """A bound for one domain, for two, for more, times the channels."""
        index = np.minimum(self.k, 3).astype(int) - 1
        return np.asarray(np.array(values)[index] * channels * units.GB)


def _ring(at: _At) -> Costs:
    bus, hop, steps = np.minimum(at.bus, at.net), at.hop["ring"], at.passes * (at.n - 1)
    net = np.where(at.g > 1, at.lat["ring", "network"], at.lat["tree", "network"])
    if at.passes:
        across = at.passes * (at.k - 1)
        posted = np.where(at.k > 1, np.maximum(hop, at.lat["cpu", "post"]), hop)
        spent = (steps - across) * posted + across * net
    else:  # equal channels pipeline; those of a mesh wait for each other
        steps, spent = at.n, np.where(at.k > 1, net, hop)
        spent = at.n * np.stack([*spent[:2], at.hop["tree"][2]]) if at.mesh else spent
    spent = spent + at.lat["ring", "base"]
    flat = (at.k > 1) & (at.sizes >= 64 * at.n * np.maximum(at.links, 2)) & (at.passes == 2)
    spent[2] *= np.where(flat, at.told["plateau"], 1.0)
    ll128 = np.minimum(bus * at.share["ll128"], at.cap(at.told["ring_ll128"], at.links))
    return spent, np.stack([np.minimum(bus * at.share["ll"], at.ll), ll128, bus]) * at.n / steps


def _tree(at: _At) -> Costs:
    """A chain inside a domain, a tree between domains."""
    spent = (at.g - 1) * at.hop["tree"] + np.floor(np.log2(at.k)) * at.lat["tree", "network"]
    cap = at.cap(at.told["tree"], np.maximum(at.links, 2))
    bus = np.minimum(np.minimum(at.bus, at.twice) * at.share["tree"], cap)
    ll128 = bus * at.cap(at.share["tree_ll128"], 1 / units.GB)
    ll128 = np.minimum(ll128, at.cap(at.told["tree_ll128"], at.links))
    widths = np.stack([np.minimum(bus * at.share["tree_ll"], at.ll), ll128, bus])
    return at.lat["tree", "base"] + 2 * spent, widths / 2 * at.middle


def _nvls(at: _At) -> Costs:
    """The switch adds: M (N + 1) / N on each link, as every channel is double at one GPU."""
    inside = 2 * (at.g - 1) / (at.g + 1) * at.told["nvls"] * at.bus * (at.links > 0) * at.reduces
    inside = inside * np.where(at.g > 8, at.share["nvls_rack"], 1.0)
    over = np.minimum(np.minimum(inside, at.cap(at.told["nvls_tree"], at.g)), at.twice)
    over = over * at.middle[2] ** at.told["nvls_tree_middle"]
    wide = np.where(at.k > 1, over, inside) * at.n / (2 * (at.n - 1))
    return at.hop["nvls"] + 2 * np.floor(np.log2(at.k)) * at.lat["nvls", "network"], wide[None]


def _simple(at: _At, hops: Any, net_hops: Any, per_byte: FloatArray) -> Costs:
    latency = at.lat["ring", "base"] + hops * at.hop["ring"] + net_hops * at.lat["ring", "network"]
    return latency[2:], (1 / per_byte)[None]


def _hierarchical(at: _At) -> Costs:
    """Reduce-scatter inside, all-reduce of M/g across, all-gather inside, one after the other."""
    inside, across = 2 * (at.g - 1), 2 * (at.k - 1)
    return _simple(at, inside, across, inside / at.g / at.bus + across / at.k / at.net)


def _direct(at: _At) -> Costs:
    """Every pair for itself; eight sends to other domains at a time, beside those inside."""
    away, far = at.n - at.g, np.where(at.k > 1, at.g / at.net, 0.0)
    pairs = np.maximum((at.g - 1) / at.bus, away * far) / at.n
    one = np.maximum(1 / at.bus, far)  # sendrecv: to one neighbour
    return _simple(at, at.g - 1, np.ceil(away / 8), pairs if at.passes else one)


_RINGS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
#: What an algorithm serves, and over how many domains.
_MAKERS: dict[str, tuple[Callable[[_At], Costs], Sequence[str], str]] = {
    "ring": (_ring, _RINGS, "any"), "tree": (_tree, _RINGS[:1], "any"),
    "nvls": (_nvls, _RINGS[:1], "one"), "nvls_tree": (_nvls, _RINGS[:1], "several"),
    "direct": (_direct, [c for c in COLLECTIVES if c not in _RINGS], "any"),
    "hierarchical": (_hierarchical, _RINGS[:1], "several")}


def _costs(m: Machine, collective: str, sizes: ArrayLike, ranks: ArrayLike | None,
           algorithms: Sequence[str]) -> tuple[NDArray[np.str_], FloatArray, FloatArray]:
    """Return names, latency (s) and seconds per byte of what NCCL picks."""
    at, names, costs = _At(m, collective, sizes, ranks), [], []
    for name in algorithms:
        maker, serves, domains = formulas.pick(_MAKERS, name, "algorithm")
        if collective in serves:
            latency, width = maker(at)
            width = width * np.where(at.k > 1, domains != "one", domains != "several")
            names += [(name, protocol) for protocol in PROTOCOLS[-len(width) :]]
            costs += [*zip(latency, width, strict=True)]
    formulas.require(bool(names), f"no {collective} runs on {' or '.join(algorithms)}; leave "
                                  "algorithms out to let NCCL choose")
    table = np.array(costs)
    table[:, 0][table[:, 1] == 0] = np.inf  # what cannot be here is never the least
    best = (table[:, 0] + at.sizes / np.maximum(table[:, 1], 1e-9)).argmin(axis=0)
    latency, width = np.take_along_axis(table, best[None, None], axis=0)[0]
    return np.array(names)[best], latency, 1 / width


def predict(machine: Machine, collective: str, sizes: ArrayLike, ranks: ArrayLike | None = None,
            algorithms: Sequence[str] = ALGORITHMS) -> Prediction:
    """Predict time, bandwidths and the winner of a collective, for all sizes and ranks at once.

    Parameters
    ----------
    machine : Machine
        Where it runs.
    collective : str
        As nccl-tests names it, one of `COLLECTIVES`.
    sizes : float or array
        M as nccl-tests counts it, bytes.
    ranks : int, array or None
        Ranks that take part, 2 or more; broadcasts with sizes. None means the whole machine.
    algorithms : sequence of str
        Which are considered, such as ("ring", "tree") for NVLS turned off, or one alone for its
        curve; "hierarchical" compares what NCCL does not have.

    Returns
    -------
    Prediction
        time (s), algbw and busbw (bytes/s, one way), algorithm and protocol of the winner.

    Raises
    ------
    ValueError
        If a size is negative, ranks are not whole or below 2, or a name is unknown.

    Formula: offset + latency + M / (efficiency x bandwidth) of the way with the least
    latency + M / bandwidth. Ring: base + 2 (N - k) hop + 2 (k - 1) net, B N / (2 (N - 1)); tree:
    base + 2 ((g - 1) hop + log2 k net), B / 2; NVLS: 25 us, e B N / (N + 1); NCCL 2.30.7,
    tuning.cc. busbw is algbw x 2 (N - 1) / N and so on (nccl-tests PERFORMANCE.md); under NVLS
    links carry only M (N + 1) / N, so busbw can pass the rate of a link.
    Lesson 07; busbw in Lesson 05.

    >>> found = predict(machine("HGX H200", offset=0.0), "all_reduce", [2**20, 2**33])
    >>> found.algorithm.tolist(), (found.busbw / 1e9).round().tolist()
    (['ring', 'nvls'], [66.0, 490.0])
    """
    names, latency, spent = _costs(machine, collective, sizes, ranks, algorithms)
    size, n = np.asarray(sizes, dtype=np.float64), machine.ranks if ranks is None else ranks
    time: FloatArray = machine.offset + latency + size * spent / machine.efficiency
    bus = size / time * formulas.busbw_factor(np.asarray(n, dtype=np.float64), collective)
    return Prediction(time, size / time, bus, names[..., 0], names[..., 1])


class Table(NamedTuple):
    """One collective on one machine: bytes, s, and busbw in bytes/s one way, in order of size.

    `name` says where in a few words; `about` is the entry of the index, with file and note.
    `machine` is described and not fitted, None where NCCL did not run.
    """

    name: str
    about: dict[str, Any]
    collective: str
    ranks: int
    machine: Machine | None
    sizes: FloatArray
    times: FloatArray
    busbw: FloatArray

    @property
    def factor(self) -> float:
        """Bus bandwidth over size / time."""
        return float(formulas.busbw_factor(self.ranks, self.collective))


class Residuals(NamedTuple):
    """What a fit leaves: relative errors (fitted / measured - 1) in order of size.

    `median`, `p90` and `worst` are of their absolute values; `warning` says in words why the table
    cannot carry the fit, and is empty if it can.
    """

    errors: FloatArray
    median: float
    p90: float
    worst: float
    warning: str


class Fit(NamedTuple):
    """A machine with the offset (s) and efficiency that come nearest to a table."""

    machine: Machine
    left: Residuals


class LineFit(NamedTuple):
    """T = latency + wire / bandwidth; s, bytes/s of busbw."""

    latency: float
    bandwidth: float
    left: Residuals


@cache
def tables() -> tuple[Table, ...]:
    """Return every published table, in the order of the index `data/published.toml`.

    Lesson 05.

    >>> [t.sizes.size for t in tables() if t.name == "8x H200"]
    [20]
    """
    found = []
    for row in read_table("published")["tables"]:
        lines = [x for x in csv.DictReader(read_text(f"published/{row['file']}.csv").splitlines())
                 if x["machine"] == row["machine"] and row.get("gpu", x["gpu"]) == x["gpu"]]
        for (collective, n), group in groupby(lines, lambda x: (x["collective"], x["ranks"])):
            cells = [[float(x[key]) for key in ("bytes", "time_us", "busbw_GBps")] for x in group]
            told = {"gpus": int(n) // row.get("domains", 1), "domains": row.get("domains", 1)}
            told |= row.get("told", {})
            at = machine(row["system"], **told) if "system" in row else None
            columns = np.array(cells).T * [[1], [units.US], [units.GB]]
            found.append(Table(row["name"], row, collective, int(n), at, *columns))
    return tuple(found)


def _read(sizes: ArrayLike, times: ArrayLike) -> list[FloatArray]:
    size, time = (np.atleast_1d(x) for x in formulas.check(message=sizes, time=times))
    formulas.require(size.shape == time.shape and size.size > 1, f"{size.size} sizes and "
                     f"{time.size} times were given; a fit needs as many of both, 2 or more")
    order = np.argsort(size, kind="stable")
    return [size[order], time[order]]


def _left(time: FloatArray, start: FloatArray, fitted: FloatArray) -> Residuals:
    """Sum up what a fit leaves, and warn; start is the part of each time that is no transfer."""
    errors = fitted / time - 1
    places = np.array([0.5, 0.9, 1.0]) * (errors.size - 1)  # np.percentile takes six times as long
    median, p90, worst = np.interp(places, np.arange(errors.size), np.sort(np.abs(errors))).tolist()
    fall = float((np.maximum.accumulate(time) / time).max())
    warnings: dict[str, tuple[Any, bool]] = {
        "few": (time.size, time.size < 6), "noise": (fall, fall > 1.5),
        "large": (start[0] / fitted[0], start[0] < fitted[0] / 2),
        "small": (1 - start[-1] / fitted[-1], start[-1] > fitted[-1] / 3),
        "apart": (median, median > 0.1)}
    told = [words(f"nccl.{key}", value=value) for key, (value, on) in warnings.items() if on]
    return Residuals(errors, median, p90, worst, " ".join(told))


def fit(machine: Machine, sizes: ArrayLike, times: ArrayLike,
        collective: str = "all_reduce") -> Fit:
    """Find the offset and the efficiency with which a machine comes nearest to a measured table.

    Parameters
    ----------
    machine : Machine
        Its description, with ``reduces=False`` if NVLS was off; its own offset and efficiency do
        not count.
    sizes : array
        M as nccl-tests counts it, bytes.
    times : array
        Measured times, s.
    collective : str
        As nccl-tests names it.

    Returns
    -------
    Fit
        The machine with both numbers, and what is left: relative errors in order of size and a
        warning in words where the table cannot carry the fit.

    Raises
    ------
    ValueError
        If the lists differ in length, are shorter than 2 or hold a time that is not above 0.

    Formula: least mean plus half the median of sqrt(|log(predicted / measured)|), so that a few odd
    sizes weigh little; a grid over both numbers, refined three times.
    Lesson 07.

    >>> true = machine("DGX A100", offset=30e-6, efficiency=0.9)
    >>> sizes = 2.0 ** np.arange(10, 34)
    >>> found = fit(true, sizes, predict(true, "all_reduce", sizes).time).machine
    >>> round(found.offset * 1e6, 1), round(found.efficiency, 3)
    (30.0, 0.9)
    """
    size, time = _read(sizes, times)
    _, latency, spent = _costs(machine, collective, size, None, ALGORITHMS)
    wire, low, half = size * spent, -0.95 * float(latency.min()), (size.size - 1) // 2
    offsets = np.linspace(low, max(1.2 * float(time.min()), -2 * low), 61)
    slows = np.geomspace(0.4, 60.0, 61)
    for zoom in (8, 8, 8, 1):
        fitted = offsets[:, None, None] + latency + slows[:, None] * wire
        miss = np.sqrt(np.abs(np.log(fitted / time)))
        loss = miss.mean(axis=-1) + np.partition(miss, half)[..., half] / 2
        i, j = np.unravel_index(loss.argmin(), loss.shape)
        offset, slow = float(offsets[i]), float(slows[j])
        reach, ratio = np.ptp(offsets) / 2 / zoom, (slows[-1] / slows[0]) ** (0.5 / zoom)
        offsets = np.linspace(max(low, offset - reach), offset + reach, 31)
        slows = np.geomspace(slow / ratio, slow * ratio, 31)
    left = _left(time, offset + latency, offset + latency + slow * wire)
    return Fit(replace(machine, offset=offset, efficiency=1 / slow), left)


def fit_line(sizes: ArrayLike, times: ArrayLike, collective: str = "all_reduce",
             ranks: int = 2) -> LineFit:
    """Fit latency and bandwidth to a table, without any knowledge of machine or algorithm.

    Parameters
    ----------
    sizes : array
        M as nccl-tests counts it, bytes.
    times : array
        Measured times, s.
    collective : str
        As nccl-tests names it; with the ranks it gives the wire bytes M x busbw / algbw.
    ranks : int
        Ranks that took part.

    Returns
    -------
    LineFit
        latency (s), bandwidth (bus bandwidth, bytes/s, one way; inf if the times do not grow),
        and what is left as with `fit`.

    Raises
    ------
    ValueError
        If the lists differ in length, are shorter than 2 or hold a time that is not above 0.

    Formula: T = L + wire / B, none negative, by relative errors reweighted towards
    their median; Hockney 1994.
    Lesson 05.

    >>> found = fit_line([1e3, 1e6, 1e9], [1e-5, 1.1e-5, 1.01e-3], "broadcast")
    >>> round(found.latency * 1e6, 1), round(found.bandwidth / 1e9)
    (10.0, 1000)
    """
    size, time = _read(sizes, times)
    wire = size * formulas.busbw_factor(ranks, collective)
    shares = np.array([1 / time, wire / time])  # of start and transfer, for 1 s and 1 s/byte
    products = np.array([shares[0] ** 2, shares[0] * shares[1], shares[1] ** 2, *shares])
    latency, slow, error = 0.0, 0.0, np.ones_like(time)
    for _ in range(12):
        total, across, square, up, both = (products / np.maximum(error, 0.01)).sum(axis=1).tolist()
        spread = total * square - across * across
        slow = max((total * both - across * up) / spread, 0.0) if spread > 0 else 0.0
        latency = (up - slow * across) / total
        latency, slow = (latency, slow) if latency >= 0 else (0.0, both / square)
        error = np.abs([latency, slow] @ shares - 1)
    left = _left(time, np.full_like(time, latency), latency + wire * slow)
    grows = slow * wire.max() > 1e-9 * time.max()  # what is left of rounding is no growth
    return LineFit(latency, 1 / slow if grows else np.inf, left)
