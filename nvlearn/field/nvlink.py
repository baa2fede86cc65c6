"""Read what `nvidia-smi nvlink --status` prints: which links of each GPU are up."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from nvlearn import catalog
from nvlearn.field.fabric import link_count, soldered
from nvlearn.field.findings import Document, Finding, Unsupported, found, in_words
from nvlearn.i18n import words
from nvlearn.units import GB, format_rate

GPU = re.compile(r"\bGPU (\d{1,4}): *([^(]{0,80})(\([^)]*)?(\))?")
LINK = re.compile(r"\bLink (\d{1,3})(?:: *(?:(\d+\.?\d*) GB/s|<?((?i:inactive|sleep))>?))?(.*)")
DEAD = re.compile(r"all links are in[Aa]ctive|not have or support")
MOST_GPUS = 2048


@dataclass
class Gpu:
    """The lines of one GPU: the printed rate of each link, 0 if inactive, None if torn."""

    index: int
    name: str
    torn: bool
    rates: dict[int, float | None] = field(default_factory=dict)
    dead: bool = False  # instead of its links stands that none is up
    other: bool = False  # capabilities, errors or peers of links, not their state

    def status(self, expected: int) -> dict[str, Any]:
        """Return the GPU in the form of `nvlearn read --json`."""
        rates, known = self.rates.values(), bool(self.rates) or self.dead
        whole = self.dead or (len(rates) >= max(expected, 1) and None not in rates)
        whole = whole and not self.torn
        nominal = [nominal_rate(rate) for rate in rates if rate]
        down = sum(rate == 0 for rate in rates) or (expected if self.dead else 0)
        return {
            "index": self.index, "name": self.name, "up": len(nominal) if known else None,
            "down": down if known else None,
            "gb_per_s_raw": round(sum(rate or 0 for rate in rates), 3) if whole else None,
            "gb_per_s_one_way": sum(n or 0 for n in nominal)
            if whole and None not in nominal else None,
            "complete": whole}


@dataclass(frozen=True)
class Status(Document):
    """The state of the NVLinks of each GPU."""

    kind = "nvlink-status"
    gpus: list[dict[str, Any]]
    findings: tuple[Finding, ...]

    def in_words(self) -> str:
        """Say of each GPU how many links are up and what they carry."""
        lines = [words("field.status", gpus=len(self.gpus))]
        for gpu in self.gpus:
            rate = gpu["gb_per_s_one_way"]
            key = "torn" if rate is None else "up" if rate else "idle"
            key = "unread" if gpu["up"] is None else key
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


def read(lines: list[str]) -> list[tuple[int, Document]]:
    """Take every list of links out of a paste, each with the line it begins at."""
    lists: list[tuple[int, list[Gpu]]] = []
    gpus: list[Gpu] = []
    for at, line in enumerate(lines):
        if "GPU " in line and (match := GPU.search(line)):
            gpu = Gpu(int(match[1]), match[2].strip(), bool(match[3]) and not match[4])
            if not gpus or gpu.index <= gpus[-1].index or len(gpus) >= MOST_GPUS:
                lists.append((at, gpus := []))
            gpus.append(gpu)
        elif gpus and "Link " in line and (match := LINK.match(line, line.index("Link "))):
            rate = float(match[2]) if match[2] else 0.0 if match[3] else None
            if rate is None and match[4].strip(": <inactve0123456789.GB/s"):
                gpus[-1].other = True
            else:
                gpus[-1].rates[int(match[1])] = rate
            lines[at] = ""
        if gpus and ("all links" in line or "support" in line):
            gpus[-1].dead |= bool(DEAD.search(line))
    told = [(at, gpus) for at, gpus in lists if any(g.rates or g.dead or g.other for g in gpus)]
    return [(at, explain(gpus)) for at, gpus in told]


def explain(gpus: list[Gpu]) -> Document:
    """Return what a list of links means."""
    if not any(g.rates or g.dead for g in gpus):
        return Unsupported(words("field.nvlink_other"), words("field.nvlink_other_reason"))
    models = {g.name: catalog.gpu.find(g.name) for g in gpus}
    most = {name: max(len(g.rates) for g in gpus if g.name == name) for name in models}
    status = [g.status(link_count(models[g.name]) or most[g.name]) for g in gpus]
    return Status(status, tuple(judge(gpus, status, models)))


def judge(gpus: list[Gpu], status: list[dict[str, Any]],
          models: dict[str, catalog.Gpu | None]) -> Iterator[Finding]:
    """Find links that are down, GPUs without any, and what the paste has lost."""
    lists: dict[str, list[int]] = {}
    for gpu, told in zip(gpus, status, strict=True):
        model = models[gpu.name]
        if told["up"] == 0 and told["complete"]:
            board = model and soldered(model) and len(gpus) > 1
            lists.setdefault("all_down" if board else "no_links", []).append(gpu.index)
        elif told["down"]:
            down = ", ".join(str(n) for n, rate in sorted(gpu.rates.items()) if rate == 0)
            yield found("links_down", [gpu.index], down=down, up=told["up"])
        if not told["complete"]:
            lists.setdefault("list_cut" if gpu is gpus[-1] else "list_gaps", []).append(gpu.index)
    yield from (found(code, numbers) for code, numbers in lists.items())
    if gpus[0].index > 0:
        yield found("list_starts", first=gpus[0].index)
