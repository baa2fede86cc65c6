"""Explorers: ipywidgets controls around a computation and a picture."""

from __future__ import annotations

from nvlearn.explorers.bandwidth import bandwidth_explorer
from nvlearn.explorers.explorer import ChoiceControl, Explorer, NumberControl
from nvlearn.explorers.prediction import prediction_box
from nvlearn.explorers.step import demo_explorer

__all__ = [
    "ChoiceControl", "Explorer", "NumberControl", "bandwidth_explorer", "demo_explorer",
    "prediction_box",
]  # fmt: skip
