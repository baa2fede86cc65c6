"""Build topologies: rings, meshes, switched boards, PCIe trees, clusters, catalog systems."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nvlearn import catalog
from nvlearn.formulas.checks import require
from nvlearn.topology.graph import Topology

FAR = ("SYS", "SOC")  # across sockets; SOC is what drivers before 2018 print
SOCKET_RATE = 40e9  # bytes/s one way between two sockets, what NCCL expects of recent ones


def _graph(gpus: int) -> Any:
    import networkx as nx

    require(gpus >= 1, f"A machine needs at least one GPU, not {gpus}")
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((f"GPU{i}" for i in range(gpus)), kind="gpu")
    return graph


def _join(graph: Any, a: str, b: str, rate: float, links: int = 1, kind: str = "nvlink") -> None:
    """Lay links between two stations, each one edge in both directions."""
    require(rate > 0, f"The link {a}-{b} needs a rate above 0 bytes/s, not {rate}")
    for _ in range(links):
        for u, v in ((a, b), (b, a)):
            graph.add_edge(u, v, kind=kind, capacity=float(rate), nominal=float(rate))


def mesh(matrix: ArrayLike, rate: float, name: str = "mesh", *, relay: bool = False) -> Topology:
    """Build a machine whose GPUs are joined directly, from its matrix of links.

    Parameters
    ----------
    matrix : int array, shape (GPUs, GPUs)
        Links between each pair, symmetric, zero on the diagonal.
    rate : float
        Bytes/s of one link, one way.
    name : str
        What the machine is called.
    relay : bool
        Whether GPUs pass on traffic of others.

    Raises
    ------
    ValueError
        If the matrix is not square and symmetric with a zero diagonal.

    Source: ``nvidia-smi topo -m``.
    Lesson 04.

    >>> mesh([[0, 2], [2, 0]], 25e9).cut([0])
    50000000000.0
    """
    given = np.asarray(matrix)
    links = given.astype(np.int64)
    square = links.ndim == 2 and links.shape == links.T.shape
    whole = (links == given).all() and (links >= 0).all()
    require(square and whole and (links == links.T).all() and not links.diagonal().any(),
            "A mesh is a square, symmetric matrix of link counts with 0 on its diagonal, not "
            f"{given.tolist()}")
    graph = _graph(len(links))
    for a, b in zip(*np.nonzero(np.triu(links)), strict=True):
        _join(graph, f"GPU{a}", f"GPU{b}", rate, int(links[a, b]))
    return Topology(graph, name, relay=relay)


def ring(gpus: int, rate: float, *, relay: bool = True) -> Topology:
    """Build a ring, the metro line: every GPU is joined to the two beside it.

    Parameters
    ----------
    gpus : int
        Number of GPUs, at least 2.
    rate : float
        Bytes/s of one link, one way.
    relay : bool
        Whether GPUs pass on traffic of others.

    Raises
    ------
    ValueError
        If there are fewer than two GPUs.

    Source: Patarasuk and Yuan 2009.
    Lesson 04.

    >>> ring(8, 25e9).diameter()
    4
    """
    require(gpus >= 2, f"A ring needs at least 2 GPUs, not {gpus}")
    onward = np.roll(np.eye(gpus), 1, axis=0)
    return mesh(np.maximum(onward, onward.T), rate, f"ring of {gpus}", relay=relay)


def full_mesh(gpus: int, rate: float) -> Topology:
    """Build a machine in which every pair of GPUs has a link of its own.

    Parameters
    ----------
    gpus : int
        Number of GPUs.
    rate : float
        Bytes/s of one link, one way.

    Formula: N(N-1)/2 pairs to wire.
    Lesson 04.

    >>> full_mesh(8, 25e9).graph.size() // 2
    28
    """
    return mesh(1 - np.eye(gpus), rate, f"full mesh of {gpus}")


def switched(gpus: int, rate: float, wires: Sequence[int], *, boards: int = 1, trunk: int = 0,
             spine: bool = False, reduces: bool = False, name: str = "switched board") -> Topology:
    """Build a machine whose GPUs are joined by NVSwitch chips.

    Parameters
    ----------
    gpus : int
        Number of GPUs, over all boards.
    rate : float
        Bytes/s of one link, one way.
    wires : sequence of int
        Links from a GPU to each switch chip of its board, such as (5, 5, 4, 4).
    boards : int
        Boards with switch chips of their own.
    trunk : int
        Links from each chip to its partner on the next board, or to the spine.
    spine : bool
        Whether the boards are joined by a second level of switches.
    reduces : bool
        Whether the switches can add (NVLink SHARP): NVSwitch 3 and later.
    name : str
        What the machine is called.

    Raises
    ------
    ValueError
        If the GPUs do not fill the boards evenly.

    Chips of a board share all traffic evenly, so they act as one: "NVSwitches are invisible to
    NCCL". Source: NVIDIA Fabric Manager User Guide, "NVSwitch-Based Systems".
    Lesson 04.

    >>> switched(8, 25e9, (5, 5, 4, 4)).cut([0])
    450000000000.0
    """
    require(boards > 0 and gpus % boards == 0, f"{gpus} GPUs do not fill {boards} boards evenly")
    graph = _graph(gpus)
    chips = [f"NVSwitch{i}" for i in range(len(wires) * boards)]
    for i, chip in enumerate(chips):
        graph.add_node(chip, kind="nvswitch", group=f"NVSwitch board {i // len(wires)}",
                       reduces=reduces)
    for gpu in range(gpus):
        first = gpu // (gpus // boards) * len(wires)
        for chip, count in zip(chips[first:], wires, strict=False):
            _join(graph, f"GPU{gpu}", chip, rate, count)
    trunks = list(zip(chips[len(wires):], chips, strict=False))
    if spine:
        graph.add_node("NVSwitch spine", kind="nvswitch")
        trunks = [(chip, "NVSwitch spine") for chip in chips]
    for chip, partner in trunks:
        _join(graph, chip, partner, rate, trunk)
    return Topology(graph, name)


def with_pcie(topology: Topology, rate: float, *, gpus_per_switch: int = 2,
              switches_per_socket: int = 2, socket_rate: float = SOCKET_RATE) -> Topology:
    """Add the municipal roads to a machine: PCIe switches, host bridges and sockets.

    Parameters
    ----------
    topology : Topology
        The machine; its GPUs are attached in rank order.
    rate : float
        Bytes/s of a PCIe x16 port, one way.
    gpus_per_switch : int
        GPUs below one PCIe switch; 0 attaches them to the host bridge directly.
    switches_per_socket : int
        PCIe switches, or without switches GPUs, below one host bridge.
    socket_rate : float
        Bytes/s between two CPU sockets, one way.

    Source: the PIX, PXB, PHB, SYS levels of the NCCL environment variables page.
    Lesson 03.

    >>> tree = with_pcie(Topology(_graph(4), "four cards"), 32e9, switches_per_socket=1)
    >>> tree.hop_matrix("pcie")[0].tolist()
    [0, 2, -1, -1]
    """
    graph = topology.graph.copy()
    ports = [i // max(gpus_per_switch, 1) for i in range(topology.ranks)]
    sockets = [port // switches_per_socket for port in ports]
    _lay_roads(graph, ports if gpus_per_switch else [None] * len(ports), sockets, rate, socket_rate)
    return Topology(graph, topology.name, relay=topology.relay)


def _lay_roads(graph: Any, ports: Sequence[int | None], sockets: Sequence[int], rate: float,
               between: float = SOCKET_RATE) -> None:
    """Join each GPU to its PCIe switch (None: at once to its host), that to its host, and hosts."""
    for gpu, (port, socket) in enumerate(zip(ports, sockets, strict=True)):
        host = f"CPU{socket}"
        above = host if port is None else f"PCIeSwitch{port}"
        if host not in graph:
            graph.add_node(host, kind="host")
            for other in range(socket):
                _join(graph, f"CPU{other}", host, between, kind="socket")
        if above not in graph:
            graph.add_node(above, kind="pcie_switch")
            _join(graph, above, host, rate, kind="pcie")
        _join(graph, f"GPU{gpu}", above, rate, kind="pcie")


def pcie_tree(gpus: int, rate: float, *, name: str = "PCIe tree", **layout: Any) -> Topology:
    """Build a machine that has PCIe alone.

    Parameters
    ----------
    gpus : int
        Number of GPUs.
    rate : float
        Bytes/s of a PCIe x16 port, one way.
    name : str
        What the machine is called.
    **layout
        As for `with_pcie`: gpus_per_switch, switches_per_socket, socket_rate.

    Lesson 03.

    >>> pcie_tree(8, 32e9).cut([0])
    32000000000.0
    """
    return with_pcie(Topology(_graph(gpus), name), rate, **layout)


def cluster(domain: Topology, domains: int, nic_rate: float, *, nics: int | None = None,
            pcie_rate: float = 64e9) -> Topology:
    """Join equal domains by NICs and a network that never blocks: rail between the cities.

    Parameters
    ----------
    domain : Topology
        One NVLink domain, such as ``system("DGX H100")``.
    domains : int
        How many of them.
    nic_rate : float
        Bytes/s of one NIC port, one way.
    nics : int or None
        NICs of a domain; None gives each GPU its own.
    pcie_rate : float
        Bytes/s from GPU to NIC, one way.

    Raises
    ------
    ValueError
        If there is no domain, or more NICs than GPUs.

    Source: NVIDIA DGX SuperPOD reference architectures (one NIC per GPU).
    Lesson 08.

    >>> two = cluster(full_mesh(4, 25e9), 2, 50e9)
    >>> two.ranks, two.cut([0, 1, 2, 3])
    (8, 200000000000.0)
    """
    count = domain.ranks if nics is None else nics
    require(domains > 0 and 1 <= count <= domain.ranks, "A cluster needs at least 1 domain and 1 "
            f"to {domain.ranks} NICs in each, not {domains} and {count}")
    graph = _graph(domains * domain.ranks)
    graph.add_node("network", kind="network")
    for d in range(domains):
        names = {gpu: f"GPU{d * domain.ranks + i}" for i, gpu in enumerate(domain.gpus)}
        for node, data in domain.graph.nodes(data=True):
            here = names.setdefault(node, f"{node}@{d}")
            graph.add_node(here, **{**data, "group": f"{data.get('group', node)}@{d}"}
                           if data["kind"] != "gpu" else data)
        graph.add_edges_from((names[u], names[v], e) for u, v, e in domain.graph.edges(data=True))
        for i in range(domain.ranks):
            nic = f"NIC{d * count + i * count // domain.ranks}"
            if nic not in graph:
                graph.add_node(nic, kind="nic")
                _join(graph, nic, "network", nic_rate, kind="network")
            _join(graph, f"GPU{d * domain.ranks + i}", nic, pcie_rate, kind="pcie")
    return Topology(graph, f"{domains} x {domain.name}", relay=domain.relay)


def printed(labels: Sequence[Sequence[str | None]], rate: float, road: float, *,
            switch: bool = False, name: str = "printed machine") -> Topology:
    """Build the machine that the labels between its GPUs show.

    Parameters
    ----------
    labels : str or None, shape (GPUs, GPUs)
        NV1 ..., PIX, PXB, PHB, NODE, SYS, SOC; None where a cell was not read.
    rate : float
        Bytes/s of one NVLink, one way.
    road : float
        Bytes/s of a PCIe x16 port, one way.
    switch : bool
        Whether the NVLinks go to switches, so that every cell repeats the same ones.
    name : str
        What the machine is called.

    Raises
    ------
    ValueError
        If there is no GPU.

    PCIe is built as soon as one label speaks of it. NV# hides how two GPUs lie on PCIe: they
    count as near, unless a third label says that they are not. Source: the legend of the command.
    Lesson 04.

    >>> printed([["X", "NV4", "SYS"], ["NV4", "X", "SYS"], ["SYS", "SYS", "X"]], 25e9, 32e9)
    <Topology printed machine: 3 GPUs, 8 links>
    """
    gpus, graph = range(len(labels)), _graph(len(labels))
    labels = [[labels[a][b] or labels[b][a] for b in gpus] for a in gpus]  # either row will do
    counts = [[int(cell[2:]) if cell and cell.startswith("NV") else 0 for cell in row]
              for row in labels]
    if switch:
        graph.add_node("NVSwitch0", kind="nvswitch")
    for a in gpus:
        if switch and any(counts[a]):
            _join(graph, f"GPU{a}", "NVSwitch0", rate, max(counts[a]))
        for b in range(0 if switch else a):
            _join(graph, f"GPU{a}", f"GPU{b}", rate, counts[a][b])
    paved = any(cell in (*FAR, "PIX", "PXB", "PHB", "NODE") for row in labels for cell in row)
    if paved and not (switch and all(map(any, counts))):  # a bad cell says nothing of sockets
        ports = _together(labels, lambda cell: cell in ("PIX", "PXB"))
        shared = [port if ports.count(port) > 1 else None for port in ports]
        _lay_roads(graph, shared, _together(labels, lambda cell: cell not in FAR), road)
    return Topology(graph, name)


def _together(labels: Sequence[Sequence[str | None]],
              near: Callable[[str | None], bool]) -> list[int]:
    """Put each GPU into the first group to all of whose GPUs it is near; number the groups."""
    group: list[int] = []
    for row in labels:
        fits = (g for g in range(len(labels))  # a number without a GPU so far fits any
                if all(near(row[other]) for other, its in enumerate(group) if its == g))
        group.append(next(fits))
    return group


BOARD = 8  # GPUs of a server in a rack-spanning system whose boards the catalog does not count


@cache
def system(name: str) -> Topology:
    """Return a machine of the catalog as a topology.

    Parameters
    ----------
    name : str
        A name or alias of ``catalog.systems()``, such as "DGX H100".

    Raises
    ------
    CatalogError
        If no system has that name; the nearest names are given.

    PCIe is built where it joins GPUs that NVLink does not: layouts "pairs" and "pcie". Where no
    source tells how links go to switch chips, they are spread evenly; a domain with a published
    all-to-all rate gets a second level of switches as wide as that; a card whose PCIe generation
    the catalog does not know gets Gen4. Source: NVIDIA Fabric Manager
    User Guide and the sources of each record.
    Lesson 04.

    >>> system("DGX H100")
    <Topology DGX H100: 8 GPUs, 144 links>
    """
    record = catalog.system(name)
    gpu, gpus = catalog.gpu(record.gpu), record.gpus.count

    def count(field: str, default: int) -> int:
        figure = record.get(field)
        return figure.count if figure else default

    if record.layout == "switched":
        rate, reach = gpu.per_link.one_way, record.get("all_to_all")
        chips = count("chips_per_board", 1)
        wires = record.links_to_chips or (gpu.links.count // chips,) * chips
        trunk = round(reach.one_way * BOARD / gpus / rate) if reach else count("trunk_links", 0)
        return switched(gpus, rate, wires, boards=count("boards", gpus // BOARD), trunk=trunk,
                        spine=bool(reach), name=record.name,
                        reduces=catalog.switch(record.switch).in_network_reduction)
    road = gpu.get("pcie_raw") or catalog.pcie("Gen4").raw
    if record.layout == "pcie":
        return pcie_tree(gpus, road.one_way, gpus_per_switch=0, switches_per_socket=4,
                         name=record.name)
    joined = mesh(record.matrix, gpu.per_link.one_way, record.name)
    return with_pcie(joined, road.one_way) if record.layout == "pairs" else joined
