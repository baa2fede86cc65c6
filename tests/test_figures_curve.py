"""Closed forms as curves, and a learner's calibration."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from picture_checks import SVG, assert_fits

from nvlearn import formulas
from nvlearn.explorers import formula_explorer
from nvlearn.figures import calibration, formula_curve
from nvlearn.i18n import words

ALL_REDUCES = ["ring_all_reduce_time", "tree_all_reduce_time", "nvls_all_reduce_time"]
GIVEN = {"ranks": 8.0, "bandwidth": 370e9, "latency": 3e-6}
CASES = [
    (ALL_REDUCES, "message", (1e3, 1e10), 64e6, GIVEN),
    (["amdahl_speedup"], "n", (1, 1e4), 1000, {"parallel_share": 0.99}),
    (["pipeline_bubble_share"], "microbatches", (1, 128), 32, {"stages": 8.0}),
    (["zero_memory"], "ranks", (1, 512), 64, {"parameters": 7.5e9, "stage": 3.0}),
    (["domain_bisection"], "n", (2, 72), 8, {"bandwidth": 450e9}),
]


@pytest.mark.parametrize(("names", "over", "ends", "at", "given"), CASES, ids=lambda v: str(v)[:24])
@pytest.mark.parametrize("log", [True, False])
def test_curves_mark_what_the_formulas_give(names, over, ends, at, given, log) -> None:
    known = {r.argument for r in formulas.legend(names[0]).rows}
    given = {k: v for k, v in given.items() if k in known}
    picture = formula_curve(names, over, ends, at, log, **given)
    for name in names:
        assert picture.data["values"][name] == pytest.approx(
            formulas.FORMULAS[name](**{over: at}, **given))
    for word in ElementTree.fromstring(picture.svg).iter(f"{SVG}text"):
        assert_fits(word, picture.width, picture.height)


@pytest.mark.parametrize("name", formulas.FORMULAS)
def test_the_other_axis_of_every_formula_has_a_name(name: str) -> None:
    assert words(f"curve.of.{formulas.legend(name).result}")


def test_the_source_documents_amdahl_is_91_and_not_99() -> None:
    picture = formula_curve(["amdahl_speedup"], "n", (1, 1e4), 1000, parallel_share=0.99)
    assert "90.99 times" in picture.description


def test_curves_of_different_units_are_refused() -> None:
    with pytest.raises(ValueError, match="curves need one unit"):
        formula_curve(["amdahl_speedup", "transfer_time"], "n", (1, 10), 2)


def test_the_explorer_counts_in_the_units_of_its_sliders() -> None:
    explorer = formula_explorer(
        ALL_REDUCES, "message", message=(1.0, 1e4, 1.0, 64.0), ranks=(2, 72, 1, 8),
        bandwidth=(10, 900, 10, 370), latency=(0.5, 20.0, 0.5, 3.0))
    assert explorer.error is None
    assert explorer.picture.data["values"]["ring_all_reduce_time"] == pytest.approx(
        formulas.ring_all_reduce_time(64e6, 8, 370e9, 3e-6))
    explorer.set(ranks=16)
    assert explorer.error is None
    assert "MB" in explorer.controls["message"].box.description


def record(name: str, ratio: float | None, slip: str | None = None) -> dict[str, object]:
    return {"id": name, "ratio": ratio, "slip": slip}


def test_calibration_tells_right_ones_slips_and_the_rest() -> None:
    picture = calibration([
        record("a", 2.0, "both_ways"), record("b", 1.05), record("c", 0.3),
        record("d", 1e4, "bits"), record("e", 2.0, "both_ways"),
        record("zero", 0.0), record("none", None), record("a", 1.0), record("e", 1.0)])
    assert picture.data["kinds"] == ["slip", "right", "off", "slip", "slip", "off"]
    assert "First guesses: 6; right: 1; slips with a name: 3." in picture.description
    assert "2 of 6: That looks like both directions" in picture.description


def test_calibration_judges_as_the_learner_was_told_and_shows_a_truth_of_0() -> None:
    told = [
        record("a", 1.08, "both_ways") | {"right": False}, record("b", 1.18) | {"right": True},
        record("c", None) | {"right": True}, record("d", None) | {"right": False}]
    picture = calibration(told)
    assert picture.data["kinds"] == ["slip", "right", "right", "off"]
    assert "First guesses: 4; right: 2; slips with a name: 1." in picture.description
    assert calibration([record("a", 1.08, "both_ways")]).data["kinds"] == ["slip"]


def test_calibration_without_predictions_says_so() -> None:
    assert "no prediction yet" in calibration([]).description
