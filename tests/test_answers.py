"""Answers: the slip that a wrong number looks like."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvlearn import answers
from nvlearn.answers import slip
from nvlearn.units import UnitError


@pytest.mark.parametrize(
    ("answer", "truth", "code"),
    [
        (900, 450, "both_ways"),
        (450, 900, "half"),
        (400, 50, "bits"),
        (50, 400, "bytes"),
        (14 * 1.073741824, 14, "gib"),
        (64, 64 * 1.048576, "gib"),
        (54.4, 0.0544, "thousand"),
        (450, 450, None),
        (451, 450, None),
        (1234, 450, None),
        (0, 0, None),
        (5, 0, None),
        (math.nan, 450, None),
    ],
)
def test_a_slip_is_recognised(answer: float, truth: float, code: str | None) -> None:
    assert slip(answer, truth, unit="GB/s", direction="one way") == code


def test_slips_of_an_exercise_go_first_but_never_before_a_right_answer() -> None:
    assert slip(28, 24.5, {"n_minus_one": 28}) == "n_minus_one"
    assert slip(49, 24.5, {"no_share": 49}) == "no_share"
    assert slip(24.5, 24.5, {"n_minus_one": 24.5}) is None
    assert slip(101, 100, {"near": 101}, tolerance=0.02) is None


@given(st.floats(1e-6, 1e15), st.floats(0, 0.5))
def test_a_right_answer_is_never_a_slip(truth: float, tolerance: float) -> None:
    assert slip(truth * (1 + tolerance * 0.999), truth, {"x": truth}, tolerance) is None


@pytest.mark.parametrize(
    ("answer", "truth", "unit", "direction", "code"),
    [
        (3600, 1800, "GB/s", "both ways", "double"),
        (900, 1800, "GB/s", "both ways", "one_way"),
        (150, 300, "GB/s", "one way", "half"),
        (600, 300, "GB/s", "one way", "both_ways"),
        (0.1089, 0.0544, "s", "", "double"),
        (54.4, 0.0544, "s", "", "thousand"),
        (9, 900, "GB/s", "one way", None),
        (0.4, 40, "%", "", "percent"),
        (8, 1, "s", "", None),
    ],
)
def test_a_slip_fits_the_unit_and_direction_asked_for(
    answer: float, truth: float, unit: str, direction: str, code: str | None
) -> None:
    assert slip(answer, truth, unit=unit, direction=direction) == code


@pytest.mark.parametrize(("answer", "value"), [
    ("7.03", 7.03), ("7.03x", 7.03), ("7.03 times", 7.03), ("703%", 7.03), ("703 %", 7.03),
])  # fmt: skip
def test_a_ratio_is_read_as_people_write_it(answer: str, value: float) -> None:
    assert answers.read_answer(answer, "") == pytest.approx(value)
    assert answers.read_answer("50%", "%") == answers.read_answer(50, "%")


@pytest.mark.parametrize(("unit", "said"), [("", "is no number"), ("%", "number of %")])
@pytest.mark.parametrize("answer", ["hello", "-3", "12 GB"])
def test_what_is_no_ratio_is_not_told_to_be_a_size(answer: str, unit: str, said: str) -> None:
    with pytest.raises(UnitError, match=said) as caught:
        answers.read_answer(answer, unit)
    assert "14 GB" not in str(caught.value)
