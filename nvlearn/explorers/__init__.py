"""Explorers: ipywidgets controls around a computation and a picture."""

# isort: off
from nvlearn.explorers.explorer import Control, Explorer, NumberControl, choice
from nvlearn.explorers.lessons import (
    all_reduce_explorer, bandwidth_explorer, city_explorer, cluster_explorer, collective_explorer,
    demo_explorer, fit_explorer, formula_explorer, generations_explorer, growth_explorer,
    machines_explorer, paste_box, planner_explorer, routes_explorer, straggler_explorer,
    tuning_explorer, winner_explorer)
# isort: on
from nvlearn.explorers.quiz_box import prediction_box, quiz_box
