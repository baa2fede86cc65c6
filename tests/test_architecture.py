"""The package keeps its rows, its sizes and its docstrings; and the checkers can fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import architecture as rules
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nvlearn"
HEAVY = ["IPython", "ipywidgets", "jsonschema", "matplotlib", "networkx", "yaml"]
SKIPPED = {".venv", "build", "dist", "__pycache__", "node_modules", "LICENSE"}
SUFFIXES = {
    ".cfg",
    ".css",
    ".ipynb",
    ".json",
    ".md",
    ".py",
    ".svg",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
}
SMIL = "<" + "(animate|set)\\b"
OUTSIDE = r"\.\./" + "shared" + r"|(?<![\w./-])/" + r"work(?=[/\"'\s]|$)"


def product_files() -> list[Path]:
    """Return the text files of the repository."""
    found = [ROOT / ".ci" / "run"]
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED and not name.startswith(".")
        )
        found += [Path(folder, name) for name in sorted(names) if Path(name).suffix in SUFFIXES]
    return [file for file in found if file.is_file()]


def agree(offences: list[str]) -> None:
    assert not offences, "\n" + "\n".join(offences)


# --- the package ------------------------------------------------------------


def test_modules_import_only_from_rows_below() -> None:
    agree(rules.import_offences(PACKAGE))


def test_row_zero_needs_only_the_standard_library() -> None:
    agree(rules.standard_library_offences(PACKAGE, sys.stdlib_module_names))


def test_matplotlib_and_ipywidgets_stay_in_their_places() -> None:
    agree(rules.library_offences(PACKAGE))


def test_no_function_that_hides_errors_or_flickers() -> None:
    agree(rules.forbidden_offences(PACKAGE))


def test_movement_is_css_only() -> None:
    files = [file for file in product_files() if file.is_relative_to(PACKAGE)]
    files += [file for file in product_files() if file.suffix == ".ipynb"]
    agree(rules.text_offences(files, ROOT, SMIL, "is SMIL, which ignores prefers-reduced-motion"))


def test_nothing_reaches_outside_the_repository() -> None:
    agree(rules.text_offences(product_files(), ROOT, OUTSIDE, "is outside the repository"))


def test_sizes() -> None:
    agree(rules.size_offences(PACKAGE))


def test_docstrings() -> None:
    agree(rules.docstring_offences(PACKAGE))


@pytest.mark.parametrize("module", ["nvlearn", "nvlearn.cli"])
def test_importing_stays_light(module: str) -> None:
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    loaded = sorted(set(HEAVY) & set(json.loads(run.stdout)))
    assert not loaded, f"import {module} loads {', '.join(loaded)}"


# --- the checkers themselves ------------------------------------------------

Sample = Callable[..., Path]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """Return a function that writes a small package from {name: source}."""

    def write(**sources: str) -> Path:
        package = tmp_path / "nvlearn"
        for name, source in {"__init__": '"""P."""', **sources}.items():
            file = package / f"{name.replace('__in__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        return package

    return write


@pytest.mark.parametrize(
    "source",
    [
        "from nvlearn import topology",
        "from . import topology",
        "from .topology import ring",
        "import nvlearn.topology.graph as graph",
        "def late():\n    from nvlearn.topology import ring",
        "import importlib\nimportlib.import_module('nvlearn.topology')",
        "from nvlearn import formulas",
        "from nvlearn import unheard",
        "import nvlearn",
    ],
)
def test_an_import_upwards_or_sideways_is_found(sample: Sample, source: str) -> None:
    offences = rules.import_offences(sample(catalog=source))
    assert len(offences) == 1
    assert offences[0].startswith("nvlearn/catalog.py:")


@pytest.mark.parametrize(
    "sources",
    [
        {"catalog": "from nvlearn.units import GB\nfrom nvlearn import __version__"},
        {"topology__in__graph": "from ..formulas import f\nfrom .rings import g"},
        {"topology__in__graph": "from . import rings\nfrom nvlearn.topology import h"},
        {"cli": "from nvlearn import units, explorers, quiz"},
        {"__init__": "from nvlearn import cli"},
    ],
)
def test_an_import_downwards_or_inside_is_allowed(sample: Sample, sources: dict[str, str]) -> None:
    assert rules.import_offences(sample(**sources)) == []


def test_a_module_without_a_row_is_found(sample: Sample) -> None:
    (offence,) = rules.import_offences(sample(helpers=""))
    assert "helpers" in offence


def test_a_library_in_row_zero_is_found(sample: Sample) -> None:
    package = sample(units="import math\nimport numpy as np\nfrom nvlearn import i18n")
    offences = rules.standard_library_offences(package, sys.stdlib_module_names)
    assert offences == ["nvlearn/units.py:2: numpy is not in the standard library."]


def test_a_library_out_of_place_is_found(sample: Sample) -> None:
    package = sample(
        figures__in__plot="import matplotlib.figure",
        explorers__in__link="import ipywidgets as w\nimport matplotlib",
        quiz="def box():\n    from ipywidgets import VBox",
    )
    places = [offence.split(": ")[0] for offence in rules.library_offences(package)]
    assert places == ["nvlearn/explorers/link.py:2", "nvlearn/quiz.py:2"]


@pytest.mark.parametrize(
    "source",
    [
        "from ipywidgets import interact",
        "import ipywidgets as w\nw.Output()",
        "from IPython.display import clear_output",
        "import matplotlib.pyplot as plt",
        "from matplotlib import pyplot",
        "from matplotlib.pyplot import plot",
        "w.interactive_output(f, {})",
    ],
)
def test_a_forbidden_name_is_found(sample: Sample, source: str) -> None:
    assert rules.forbidden_offences(sample(explorers=source))


def test_a_word_in_prose_is_not_a_name(sample: Sample) -> None:
    package = sample(explorers='"""Never interact, never clear_output."""\nText = "Output"')
    assert rules.forbidden_offences(package) == []


def test_forbidden_text_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    bad = ["see ../" + "shared/x", "cd /" + "work", '"/' + 'work/main"', "<" + "animate>"]
    good = ["../share", "a/" + "work/b", "/" + "workshop", "base64,aa/" + "work/aa="]
    file.write_text("\n".join(bad + good), encoding="utf-8")
    found = rules.text_offences([file], tmp_path, f"{OUTSIDE}|{SMIL}", "is wrong")
    assert [offence.split(": ")[0] for offence in found] == [f"a.md:{n}" for n in (1, 2, 3, 4)]


def test_code_lines_leave_out_docstrings_blanks_and_comments() -> None:
    source = '''"""Title.

More.
"""

# why
x = """two
lines"""  # three with the next
def f():
    """Say."""

    return [
        1,  # one
    ]
'''
    assert sorted(rules.code_lines(source)) == [7, 8, 9, 12, 13, 14]


def test_what_is_too_long_is_found(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FUNCTION_LINES", "MODULE_LINES", "CORE_LINES", "PACKAGE_LINES"):
        monkeypatch.setattr(rules, name, 3)
    package = sample(
        units="class A:\n    def f(self):\n        a = 1\n        b = 2\n        return a + b",
        catalog="a = 1",
    )
    assert [offence.split(": ")[0] for offence in rules.size_offences(package)] == [
        "nvlearn/units.py",
        "nvlearn/units.py:2",
        "units, catalog, formulas, topology, collectives",
        "nvlearn",
    ]


FULL = '''"""Formulas."""


def doubled(x):
    """Return x twice.

    Parameters
    ----------
    x : float
        Anything.

    Raises
    ------
    ValueError
        If x is negative.

    Formula: 2x. Lesson 02.

    >>> doubled(1)
    2
    """
    if x < 0:
        raise ValueError("x is negative")
    return 2 * x
'''


def test_a_full_docstring_passes(sample: Sample) -> None:
    assert rules.docstring_offences(sample(formulas=FULL)) == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("Return x twice.", "Return x twice", "period"),
        ("Parameters\n", "Values\n", "Parameters"),
        ("Raises\n", "Errors\n", "Raises"),
        ("Lesson 02.", "", "lesson"),
        (">>> doubled(1)", "doubled(1)", "example"),
        ('"""Formulas."""', "", "module"),
    ],
)
def test_a_gap_in_a_full_docstring_is_found(sample: Sample, old: str, new: str, word: str) -> None:
    assert old in FULL
    (offence,) = rules.docstring_offences(sample(formulas=FULL.replace(old, new)))
    assert word in offence


def test_elsewhere_one_sentence_suffices(sample: Sample) -> None:
    source = '"""Q."""\nclass Bank:\n    """Hold."""\n    def load(self, a):\n        """Load."""'
    assert rules.docstring_offences(sample(quiz=source)) == []
    assert rules.docstring_offences(sample(quiz=source.replace('"""Load."""', "pass")))


BOARD = '''"""Boards."""


class Board:
    """Hold a board. Lesson 04.

    >>> Board()
    """

    def hops(self, a):
        """Count."""

    def diameter(self):
        """Count."""

    @property
    def gpus(self):
        """List."""

    @gpus.setter
    def gpus(self, value): pass


@dataclass
class Link:
    """Hold a link."""

    name: str


class BoardError(ValueError):
    """Say what is wrong."""
'''


def test_methods_with_parameters_count_too(sample: Sample) -> None:
    (offence,) = rules.docstring_offences(sample(topology=BOARD))
    assert "Board.hops lacks a section Parameters, the lesson" in offence


@pytest.mark.parametrize(
    ("surface", "count"),
    [
        ("from .doubles import doubled", 1),
        ("from .doubles import *", 1),
        ("", 0),
        ("from . import doubles", 0),
    ],
)
def test_what_a_part_offers_is_what_it_lifts(sample: Sample, surface: str, count: int) -> None:
    source = FULL.replace("Lesson 02.", "")
    package = sample(formulas__in____init__=f'"""F."""\n{surface}', formulas__in__doubles=source)
    assert len(rules.docstring_offences(package)) == count
    file = package / "formulas" / "doubles.py"
    file.write_text(source + '__all__ = ["doubled"]', encoding="utf-8")
    assert len(rules.docstring_offences(package)) == 1
