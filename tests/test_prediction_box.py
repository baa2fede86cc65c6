"""The prediction box: it records, answers, and still says what to do without a kernel."""

from __future__ import annotations

import pytest

from nvlearn import answers
from nvlearn.explorers import prediction_box
from nvlearn.quiz import ledger


@pytest.mark.parametrize("id", list(answers.table("predictions")))
def test_a_box_for_every_prediction(id: str) -> None:
    box = prediction_box(id)
    box.commit()
    assert "Not yet" in box.told.value
    assert not ledger.read()
    box.number.value = "3"
    box.commit()
    assert len(ledger.read("prediction")) == 1  # Enter and the button together are one
    assert ledger.read("prediction")[0]["id"] == id
    assert ledger.read("prediction")[0]["guess"] == 3
    bundle = box._repr_mimebundle_()
    assert id in bundle["text/plain"]
    assert bundle["text/html"].startswith("<p>Commit a number")
    assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.parametrize("wrong", ["fast", "<b>1</b>", "5 parsecs", "-", "nan"])
def test_a_wrong_entry_gets_a_sentence_and_is_escaped(wrong: str) -> None:
    box = prediction_box("02-b200")
    box.number.value = wrong
    box.button.click()
    assert box.told.value.count("<") == 2  # the paragraph's own tags
    assert not ledger.read()


def test_an_unknown_prediction_is_told() -> None:
    with pytest.raises(KeyError, match="02-b200"):
        prediction_box("99-x")
