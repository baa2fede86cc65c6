"""Picture: what every function of this package returns."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished drawing with the sentence that says the same in words, and its numbers.

    The layers are the same drawing in parts, from the ground up, each of the whole size.
    """

    svg: str
    description: str
    width: float
    height: float
    layers: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def telling(self, description: str) -> "Picture":
        """Return the same picture with other words."""
        return replace(self, description=description)

    def html(self) -> str:
        """Return the still form: an image with its caption, which needs no kernel."""
        source = base64.b64encode(self.svg.encode()).decode()
        words = escape(self.description)
        return (
            f'<figure><img src="data:image/svg+xml;base64,{source}" alt="{words}">'
            f"<figcaption>{words}</figcaption></figure>")

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file and return its path."""
        target = Path(path)
        target.write_text(self.svg, encoding="utf-8", newline="\n")
        return target

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.description}
