"""What the install tests share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import readme
from install.fresh import left_out


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clean copy of the repository, in a path with a space."""
    target = tmp_path_factory.mktemp("a clean copy") / "nv learn"
    shutil.copytree(readme.ROOT, target, ignore=left_out)
    return target
