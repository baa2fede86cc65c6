"""The tables that the package reads: figures, words, legends, errata, exercises."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a TOML table of this folder, such as "legends" or "catalog/gpus"."""
    folder, _, file = name.rpartition("/")
    path = files("nvlearn").joinpath("data", folder, f"{file}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
