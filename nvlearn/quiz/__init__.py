"""The quiz: questions and their grading, predictions, and the learner's own record."""

# isort: off
from nvlearn.quiz.session import (
    answer, ask, hint, interview, load, predict, progress, save, source_questions)
# isort: on
