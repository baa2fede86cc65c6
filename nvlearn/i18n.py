"""One word table for every word that a figure, a control, a quiz or a message shows."""

import os
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from nvlearn.data import read_table

FALLBACK = "en"


class Told(str):
    """A text that a notebook shows as it is, without quotes, its lines broken between words."""

    LOOK = "white-space:pre-wrap;word-break:normal"  # JupyterLab's own breaks them anywhere

    def __repr__(self) -> str:
        """Return the bare text."""
        return str(self)

    def _repr_html_(self) -> str:
        return f'<pre tabindex="0" style="{self.LOOK}">{escape(self)}</pre>'


class WordError(LookupError):
    """A word or a language that the tables do not have; its text is one clear sentence."""


def language() -> str:
    """Return the language of the learner: NVLEARN_LANG, or English."""
    return os.environ.get("NVLEARN_LANG", "").strip().lower() or FALLBACK


@cache
def _table(code: str) -> dict[str, Any]:
    names = [f.name.split(".") for f in (files("nvlearn") / "data").iterdir()]
    known = sorted(name[1] for name in names if name[0] == "words")
    if code not in known:
        raise WordError(f"There is no word table for the language {code!r}; set NVLEARN_LANG to "
                        f"one of: {', '.join(known)}.")
    return read_table(f"words.{code}")


def words(key: str, **values: object) -> str:
    """Return the text of a dotted key, such as "slip.bits", with its placeholders filled."""
    here: Any = _table(language())
    for part in key.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    if not isinstance(here, str):
        raise WordError(f"The word table words.{language()}.toml has no text {key!r}.")
    try:
        return here.format(**values)
    except (KeyError, IndexError) as missing:
        raise WordError(f"The text {key!r} needs a value for {missing}.") from None
