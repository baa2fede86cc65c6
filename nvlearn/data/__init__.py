"""The tables that the package reads: figures, words, legends, errata, exercises."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a TOML table of this folder, such as "legends" or "catalog/gpus"."""
    return tomllib.loads(read_text(f"{name}.toml"))


def read_text(name: str) -> str:
    """Return a text of this folder, such as "published/tartan_dgx1_p100.csv"."""
    path = files("nvlearn").joinpath("data", *name.split("/"))
    return path.read_text(encoding="utf-8")
