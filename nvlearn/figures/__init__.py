"""Pictures: data in, a Picture out."""

from __future__ import annotations

from nvlearn.figures.picture import Picture
from nvlearn.figures.road_map import road_map
from nvlearn.figures.step import step_timeline
from nvlearn.figures.tables import Table, table
from nvlearn.figures.train import bandwidth_train

__all__ = ["Picture", "Table", "bandwidth_train", "road_map", "step_timeline", "table"]
