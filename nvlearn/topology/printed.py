"""The machine that a matrix of `nvidia-smi topo -m` shows, as a topology."""

from collections.abc import Callable, Sequence

from nvlearn.topology.builders import _graph, _join
from nvlearn.topology.graph import Topology

FAR = ("SYS", "SOC")  # across sockets; SOC is what drivers before 2018 print
SOCKET_RATE = 40e9  # bytes/s one way between two sockets, what NCCL expects of recent ones


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
    if any(cell in (*FAR, "PIX", "PXB", "PHB", "NODE") for row in labels for cell in row):
        ports = _together(labels, lambda cell: cell in ("PIX", "PXB"))
        sockets = _together(labels, lambda cell: cell not in FAR)
        for socket in range(max(sockets) + 1):
            graph.add_node(f"CPU{socket}", kind="host")
            for other in range(socket):
                _join(graph, f"CPU{other}", f"CPU{socket}", SOCKET_RATE, kind="socket")
        for gpu in gpus:
            above, host = f"PCIeSwitch{ports[gpu]}", f"CPU{sockets[gpu]}"
            if ports.count(ports[gpu]) == 1:
                above = host
            elif above not in graph:
                graph.add_node(above, kind="pcie_switch")
                _join(graph, above, host, road, kind="pcie")
            _join(graph, f"GPU{gpu}", above, road, kind="pcie")
    return Topology(graph, name)


def _together(labels: Sequence[Sequence[str | None]],
              near: Callable[[str | None], bool]) -> list[int]:
    """Put each GPU into the first group to all of whose GPUs it is near; number the groups."""
    groups: list[list[int]] = []
    for gpu, row in enumerate(labels):
        home = next((g for g in groups if all(near(row[other]) for other in g)), None)
        if home is None:
            groups.append(home := [])
        home.append(gpu)
    number = {gpu: i for i, group in enumerate(groups) for gpu in group}
    return [number[gpu] for gpu in range(len(labels))]
