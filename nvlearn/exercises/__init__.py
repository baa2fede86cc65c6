"""Checks of the lessons' exercises that explain what is wrong."""

from nvlearn.exercises.checks import Check, check
from nvlearn.exercises.schedules import check_schedule
