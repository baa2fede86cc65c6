"""Machines as graphs: who is joined to whom, how fast, and what happens when a link fails."""

# isort: off
from nvlearn.topology.builders import (
    cluster, full_mesh, mesh, pcie_tree, printed, ring, switched, with_pcie)
# isort: on
from nvlearn.topology.graph import Bundle, Topology
from nvlearn.topology.rings import disjoint_rings, rings
from nvlearn.topology.systems import system
from nvlearn.topology.traffic import Loads, all_to_all_pattern, loads, neighbour_pattern
