"""Explorers: ipywidgets controls around a computation and a picture."""

from nvlearn.explorers.bandwidth import bandwidth_explorer
from nvlearn.explorers.city import all_reduce_explorer, city_explorer, generations_explorer
from nvlearn.explorers.explorer import ChoiceControl, Explorer, NumberControl
from nvlearn.explorers.machine import fit_explorer, paste_box, winner_explorer
from nvlearn.explorers.prediction import prediction_box
from nvlearn.explorers.quiz_box import quiz_box
from nvlearn.explorers.step import demo_explorer


