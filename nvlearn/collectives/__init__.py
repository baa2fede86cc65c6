"""Collectives as schedules: `run` moves real arrays, `time` says how long the moves take."""

# isort: off
from nvlearn.collectives.schedule import (
    Schedule, Send, chunk_sizes, double_tree_all_reduce, halving_doubling_all_reduce,
    hierarchical_all_reduce, in_switch_all_reduce, pairwise_all_to_all,
    recursive_doubling_all_reduce, ring_all_gather, ring_all_reduce, ring_broadcast,
    ring_reduce_scatter, run, schedule, send)
# isort: on
from nvlearn.collectives.timing import Trace, time
