"""Findings: what a printout shows to be normal, suspicious or broken, each with its advice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nvlearn.data import read_table
from nvlearn.i18n import words

SEVERITIES = ("info", "warning", "fault")


class ReadError(ValueError):
    """A text that cannot be read as a printout, in one clear sentence."""


@dataclass(frozen=True)
class Finding:
    """What was found, how bad it is, which GPUs it concerns, in a sentence."""

    code: str
    severity: str
    gpus: list[int]
    text: str

    @property
    def advice(self) -> str:
        """One line that says what to do."""
        return str(codes()[self.code]["advice"])


class Document:
    """A printout that was read; what it holds are its attributes."""

    kind: ClassVar[str]
    findings: Sequence[Finding]

    def as_json(self) -> dict[str, Any]:
        """Return it in the form of `nvlearn read --json`."""
        return {"kind": self.kind, **vars(self), "findings": [vars(f) for f in self.findings]}

    def in_words(self) -> str:
        """Return it in words."""
        raise NotImplementedError


@dataclass(frozen=True)
class Unsupported(Document):
    """A printout of another tool: named, not read."""

    kind = "unsupported"
    what: str
    reason: str
    findings: Sequence[Finding] = ()

    def in_words(self) -> str:
        """Return it in words."""
        return words("field.unsupported", what=self.what, reason=self.reason)


def codes() -> dict[str, dict[str, str]]:
    """Return severity and advice of every code, from data/findings.toml."""
    return read_table("findings")


def found(code: str, gpus: Iterable[int] = (), **values: object) -> Finding:
    """Return a finding; its severity is that of the code, its text the word of that name."""
    named, section = list(gpus), "nccl_log" if code.startswith("log_") else "field"
    text = words(f"{section}.{code}", gpus=gpu_names(named), **values)
    return Finding(code, codes()[code]["severity"], named, text)


def in_words(findings: Iterable[Finding]) -> list[str]:
    """Return a line for each finding, the worst first, with what to do."""
    order = sorted(findings, key=lambda f: -SEVERITIES.index(f.severity))
    return [words(f"field.say_{f.severity}", text=f.text, advice=f.advice) for f in order]


def gpu_names(numbers: Iterable[int]) -> str:
    """Return "GPU0, GPU1 and GPU2"."""
    *most, last = [f"GPU{n}" for n in numbers] or [""]
    return f"{', '.join(most)} and {last}" if most else last
