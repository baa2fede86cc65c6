"""Read what `nvidia-smi nvlink --status` prints: which links of each GPU are up."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from nvlearn import catalog
from nvlearn.field.fabric import link_count, soldered
from nvlearn.field.findings import Document, Finding, Unsupported, found, in_words
from nvlearn.i18n import words
from nvlearn.units import GB, format_rate

GPU = re.compile(r"\bGPU (\d{1,4}): *([^(]{0,80})(\([^)]*)?(\))?")
LINK = re.compile(r"\bLink (\d{1,3})(?:: *(?:(\d+\.?\d*) GB/s|(<?inactive>?)))?(.*)", re.IGNORECASE)
DEAD = re.compile(r"all links are inactive", re.IGNORECASE)
MOST_GPUS, MOST_LISTS = 2048, 64


@dataclass
class Gpu:
    """The lines of one GPU: the printed rate of each link, 0 if inactive, None if torn."""

    index: int
    name: str
    torn: bool
    rates: dict[int, float | None] = field(default_factory=dict)
    dead: bool = False
    other: bool = False

    @property
    def up(self) -> int:
        """Links that are trained."""
        return sum(bool(rate) for rate in self.rates.values())

    def status(self, expected: int | None) -> dict[str, Any]:
        """Return the GPU in the form of `nvlearn read --json`."""
        known = bool(self.rates) or self.dead
        whole = known and not self.torn and None not in self.rates.values()
        whole &= self.dead or len(self.rates) >= (expected or 1)
        rates = [rate for rate in self.rates.values() if rate]
        nominal = [nominal_rate(rate) for rate in rates]
        sure = whole and None not in nominal
        down = sum(rate == 0 for rate in self.rates.values()) or (self.dead and expected) or 0
        return {
            "index": self.index, "name": self.name, "up": self.up if known else None,
            "down": down if known else None,
            "gb_per_s_raw": round(sum(rates), 3) if whole else None,
            "gb_per_s_one_way": sum(n or 0 for n in nominal) if sure else None, "complete": whole}


@dataclass(frozen=True)
class Status:
    """The state of the NVLinks of each GPU."""

    gpus: list[dict[str, Any]]
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it in the form of `nvlearn read --json`."""
        listed = [f.as_json() for f in self.findings]
        return {"kind": "nvlink-status", **asdict(self), "findings": listed}

    def in_words(self) -> str:
        """Say of each GPU how many links are up and what they carry."""
        lines = [words("field.status", gpus=len(self.gpus))]
        for gpu in self.gpus:
            rate = gpu["gb_per_s_one_way"]
            key = "unread" if gpu["up"] is None else "torn" if rate is None else "up"
            one, both = (format_rate((rate or 0) * GB, both_ways=way) for way in (False, True))
            lines.append(words(f"field.{key}", **gpu, one_way=one, both_ways=both))
        return "\n".join([*lines, words("field.trained"), *in_words(self.findings)])


@cache
def nominal_rate(printed: float) -> float | None:
    """Return the data-sheet GB/s of a link from the printed one: 26.562 is 25."""
    known = [(g.printed_per_link.value / GB, g.per_link.one_way / GB)
             for g in catalog.nvlinks().values() if g.get("printed_per_link")]
    near, nominal = min(known, key=lambda pair: abs(pair[0] - printed))
    return nominal if abs(near - printed) <= 0.06 * near else None


def read(lines: Sequence[str]) -> list[tuple[int, Document]]:
    """Read every list of links in a paste, each with the line it begins at."""
    lists: list[tuple[int, list[Gpu]]] = []
    for at, line in enumerate(lines):
        if match := "GPU" in line and GPU.search(line):
            index, name = int(match[1]), match[2].strip()
            gpus = lists[-1][1] if lists else []
            if not gpus or index <= gpus[-1].index or len(gpus) >= MOST_GPUS:
                if len(lists) == MOST_LISTS:
                    break
                lists.append((at, gpus := []))
            gpus.append(Gpu(index, name, torn=bool(match[3]) and not match[4]))
        elif lists and (match := "Link " in line and LINK.search(line)):
            here = lists[-1][1][-1]
            rate = float(match[2]) if match[2] else 0.0 if match[3] else None
            if rate is None and match[4].strip(": <inactve0123456789.GB/s"):
                here.other = True  # capabilities, errors or peers, not the state
            else:
                here.rates[int(match[1])] = rate
        elif lists and "all links" in line and DEAD.search(line):
            lists[-1][1][-1].dead = True
    told = [(at, gpus) for at, gpus in lists if any(g.rates or g.dead or g.other for g in gpus)]
    return [(at, explain(gpus)) for at, gpus in told]


def explain(gpus: list[Gpu]) -> Document:
    """Return what a list of links means."""
    if not any(g.rates or g.dead for g in gpus):
        return Unsupported(words("field.nvlink_other"), words("field.nvlink_other_reason"))
    most = {g.name: max(len(o.rates) for o in gpus if o.name == g.name) for g in gpus}
    models = {name: catalog.gpu.find(name) for name in most}
    kinds = [models[g.name] for g in gpus]
    expected = [(kind and link_count(kind)) or 0 for kind in kinds]
    status = [g.status(n or most[g.name]) for g, n in zip(gpus, expected, strict=True)]
    return Status(status, tuple(judge(gpus, status, kinds)))


def judge(gpus: list[Gpu], status: list[dict[str, Any]],
          kinds: Sequence[catalog.Gpu | None]) -> Iterator[Finding]:
    """Find links that are down, GPUs without any, and what the paste has lost."""
    out: dict[str, list[int]] = {}
    lost = []
    for gpu, told, kind in zip(gpus, status, kinds, strict=True):
        if not told["complete"]:
            lost.append(gpu.index)
        if told["up"] == 0 and told["complete"]:
            board = kind and soldered(kind) and len(gpus) > 1
            out.setdefault("all_down" if board else "no_links", []).append(gpu.index)
        elif told["down"]:
            down = ", ".join(str(n) for n, rate in sorted(gpu.rates.items()) if rate == 0)
            yield found("links_down", [gpu.index], down=down, up=gpu.up)
    out["list_cut"] = [n for n in lost if n == gpus[-1].index]
    out["list_gaps"] = [n for n in lost if n != gpus[-1].index]
    yield from (found(code, numbers) for code, numbers in out.items() if numbers)
    if gpus[0].index > 0:
        yield found("list_starts", first=gpus[0].index)
