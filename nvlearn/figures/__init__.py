"""Pictures: data in, a Picture out."""

from nvlearn.figures.city import bandwidth_train, city_map
from nvlearn.figures.collective import collective_step, timeline

# isort: off
from nvlearn.figures.curves import (
    Series, calibration, formula_curve, generations, size_curves, winner_map)
# isort: on
from nvlearn.figures.drawing import Picture
from nvlearn.figures.reading import drawable, reading, unpictured
from nvlearn.figures.step import split_bars, step_timeline
from nvlearn.figures.tables import Table, glossary, matrix, table
