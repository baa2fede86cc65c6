"""The learner's record and predictions."""

from __future__ import annotations

from nvlearn.quiz.predictions import predict
