"""What every test run shares: no run reads or writes the learner's own data."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

SANITIZE = Path(__file__).parent / "nbval_sanitize.cfg"


class Homes:
    """Start each test, and each notebook as a whole, with an empty home."""

    def __init__(self) -> None:
        self.homes = Path(tempfile.mkdtemp(prefix="nvlearn-tests-"))
        self.scope = ""
        os.environ["NVLEARN_HOME"] = str(self.homes / "none")
        os.environ["IPYTHONDIR"] = str(self.homes / "ipython")
        os.environ.pop("NVLEARN_LANG", None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Give a new home; nbval starts a kernel in the first cell's setup, after this hook."""
        scope = str(item.path) if item.path.suffix == ".ipynb" else item.nodeid
        if scope != self.scope:
            self.scope = scope
            os.environ["NVLEARN_HOME"] = tempfile.mkdtemp(prefix="home-", dir=self.homes)

    def pytest_unconfigure(self) -> None:
        """Remove the homes of this run."""
        shutil.rmtree(self.homes, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Watch over the items of all folders, the notebooks' too, not only over this one's."""
    config.pluginmanager.register(Homes())
    settings.register_profile("unhurried", deadline=None)  # a busy machine is no fault of the code
    settings.load_profile("unhurried")
    # nbval takes the path as it stands, so a run from another folder would not find it.
    if getattr(config.option, "nbval_sanitize_with", None) is None:
        config.option.nbval_sanitize_with = str(SANITIZE)
