"""The learner's record and predictions."""

from nvlearn.quiz.predictions import predict
