"""Pictures: data in, a Picture out."""

from nvlearn.figures.city import city_map
from nvlearn.figures.collective import collective_step
from nvlearn.figures.curves import calibration, formula_curve, winner_map
from nvlearn.figures.drawing import Picture
from nvlearn.figures.generations import generations
from nvlearn.figures.matrix import matrix
from nvlearn.figures.reading import beside, drawable, reading
from nvlearn.figures.road_map import road_map
from nvlearn.figures.sizes import Series, size_curves
from nvlearn.figures.step import step_timeline
from nvlearn.figures.tables import Table, table
from nvlearn.figures.timeline import timeline
from nvlearn.figures.train import bandwidth_train
