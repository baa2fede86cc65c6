"""Machines as graphs: who is joined to whom, how fast, and what happens when a link fails."""

# isort: off
from nvlearn.topology.builders import (
    cluster, full_mesh, mesh, pcie_tree, printed, ring, switched, system, with_pcie)
from nvlearn.topology.graph import (
    Bundle, Loads, Topology, all_to_all_pattern, disjoint_rings, loads, neighbour_pattern, rings)
# isort: on
