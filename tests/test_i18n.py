"""Words come from one table; what is missing is said in one sentence."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.resources import files
from string import Formatter

import pytest

from nvlearn import i18n
from nvlearn.data import read_table
from nvlearn.i18n import WordError, words


def test_a_word_with_its_values() -> None:
    assert words("why.source", source="a page") == "  Source: a page."


def test_english_is_the_language_without_a_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    assert i18n.language() == "en"
    monkeypatch.setenv("NVLEARN_LANG", " EN ")
    assert i18n.language() == "en"


@pytest.mark.parametrize("key", ["slip.nothing", "nothing.bits", "slip", "slip.bits.more", ""])
def test_an_unknown_key_is_named(key: str) -> None:
    with pytest.raises(WordError) as error:
        words(key)
    assert str(error.value) == f"The word table words.en.toml has no text {key!r}."


def test_a_missing_value_is_named() -> None:
    with pytest.raises(WordError) as error:
        words("why.source")
    assert str(error.value) == "The text 'why.source' needs a value for 'source'."


@pytest.mark.parametrize("code", ["xx", "../en", "e"])
def test_an_unknown_language_is_named(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setenv("NVLEARN_LANG", code)
    with pytest.raises(WordError, match="no word table for the language") as error:
        words("slip.bits")
    assert "en" in str(error.value)


def test_every_slip_has_its_words() -> None:
    assert all(words(f"slip.{case['code']}") for case in read_table("slips")["slip"])


def test_every_text_is_a_format() -> None:
    table = tomllib.loads((files("nvlearn") / "data" / "words.en.toml").read_text("utf-8"))
    todo: list[object] = [table]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += item.values()
        else:
            assert isinstance(item, str)
            assert list(Formatter().parse(item)) is not None


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "numpy networkx yaml jsonschema matplotlib ipywidgets IPython nvlearn.catalog"
    code = (
        f"import sys, nvlearn; print([m for m in {heavy.split()} if m in sys.modules]);"
        "print(nvlearn.units.GB, callable(nvlearn.why), 'catalog' in dir(nvlearn))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["[]", "1000000000.0 True True"]


def test_the_package_names_its_parts() -> None:
    import nvlearn

    with pytest.raises(AttributeError, match="it has: answers"):
        nvlearn.roundabout  # noqa: B018
