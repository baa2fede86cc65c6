"""The machines of the catalog as topologies."""

from functools import cache

from nvlearn import catalog
from nvlearn.topology.builders import mesh, pcie_tree, switched, with_pcie
from nvlearn.topology.graph import Topology

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
