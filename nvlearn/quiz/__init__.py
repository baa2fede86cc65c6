"""The quiz: questions and their grading, predictions, and the learner's own record."""

from nvlearn.quiz.classroom import load, save
from nvlearn.quiz.session import answer, ask, hint, interview, predict, progress, source_questions
