"""Closed forms of bandwidth, collectives, scaling and parallel training, with their legends.

Base units everywhere: bytes, seconds, bytes per second one way. Numbers give a float, arrays
broadcast. Each function names its source and the lesson that teaches it. `FORMULAS` lists them.
"""

# The parts are one list of closed forms; naming each of them here would only repeat it.
# ruff: noqa: F403
from nvlearn.formulas.checks import *
from nvlearn.formulas.collective import *
from nvlearn.formulas.links import *
from nvlearn.formulas.parallel import *
