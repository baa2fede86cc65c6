"""nvlearn teaches how GPUs talk to each other, told as the traffic of one city."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

__version__ = "0.1.0"

# To import the command line's __main__ would run it.
_MODULES = sorted(part.name for part in iter_modules(__path__) if part.name != "__main__")


def __getattr__(name: str) -> Any:
    """Import a part of the package when it is first asked for."""
    if name == "why":
        return import_module("nvlearn.provenance").why
    if name in _MODULES:
        return import_module(f"nvlearn.{name}")
    raise AttributeError(f"nvlearn has no part called {name!r}; it has: {', '.join(_MODULES)}.")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES, "why"])
