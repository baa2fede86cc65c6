"""Fresh environments for the install tests, which know nothing of the one that runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KEPT = (".ci", ".gitattributes", ".gitignore", ".github")
BIN = "Scripts" if os.name == "nt" else "bin"
PATIENCE = 600  # seconds, for what downloads


def left_out(_: str, names: list[str]) -> set[str]:
    """Return the names that no clean copy has."""
    made = {"__pycache__", "build", "dist"}
    return {
        name
        for name in names
        if name in made or name.endswith(".egg-info") or (name.startswith(".") and name not in KEPT)
    }


def clean_environment() -> dict[str, str]:
    """Return an environment that knows nothing of the one in which these tests run."""
    own = ("PYTHON", "VIRTUAL_ENV", "NVLEARN", "JUPYTER", "PYTEST", "IPYTHON")
    env = {key: value for key, value in os.environ.items() if not key.startswith(own)}
    inside = Path(sys.prefix) / BIN
    paths = [path for path in env["PATH"].split(os.pathsep) if Path(path) != inside]
    return {**env, "PATH": os.pathsep.join(paths)}


def run(command: list[str], cwd: Path, apart: bool = True) -> str:
    """Run a command and return what it prints, with or apart from its errors; show a failure."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        timeout=PATIENCE,
        check=False,
    )
    said = done.stdout.decode("utf-8")
    assert done.returncode == 0, (
        f"{command}\n{said}\n{(done.stderr or b'').decode('utf-8', 'replace')}"
    )
    return said
