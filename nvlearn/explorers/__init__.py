"""Explorers: ipywidgets controls around a computation and a picture."""

from nvlearn.explorers.city import all_reduce_explorer, city_explorer, generations_explorer
from nvlearn.explorers.explorer import Control, Explorer, NumberControl, choice
from nvlearn.explorers.formula import bandwidth_explorer, demo_explorer, formula_explorer

# isort: off
from nvlearn.explorers.lessons import (
    cluster_explorer, collective_explorer, machines_explorer, routes_explorer, straggler_explorer,
    tuning_explorer)
# isort: on
from nvlearn.explorers.machine import fit_explorer, paste_box, winner_explorer
from nvlearn.explorers.quiz_box import prediction_box, quiz_box
