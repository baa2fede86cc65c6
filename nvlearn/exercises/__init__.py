"""Checks of the lessons' exercises that explain what is wrong."""

from nvlearn.exercises.checks import Check, check, ids
from nvlearn.exercises.schedules import check_schedule
