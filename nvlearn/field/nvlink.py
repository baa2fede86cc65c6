"""Read what `nvidia-smi nvlink --status` prints: which links of each GPU are up."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from nvlearn import catalog
from nvlearn.field.fabric import link_count, soldered
from nvlearn.field.findings import Document, Finding, Unsupported, found, in_words
from nvlearn.i18n import Told, words
from nvlearn.units import GB, format_rate

GPU = re.compile(r"\bGPU (\d{1,4}): *([^(]{0,80})(\([^)]*)?(\))?")
LINK = re.compile(r"\bLink (\d{1,3})(?:: *(?:(\d+[.,]?\d*) GB/s|<?((?i:inactive|sleep))>?))?(.*)")
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
    model: catalog.Gpu | None = None

    def status(self, most: int) -> dict[str, Any]:
        """Return it in the form of `nvlearn read --json`; a GPU of its name lists `most` links."""
        expected, rates = link_count(self.model) or most, self.rates.values()
        known = bool(rates) or self.dead
        whole = not self.torn and (self.dead or (len(rates) >= expected > 0 and None not in rates))
        nominal = [nominal_rate(r, self.model.nvlink if self.model else "") for r in rates if r]
        down = sum(rate == 0 for rate in rates) or (expected if self.dead else 0)
        return {"index": self.index, "name": self.name, "complete": whole,
                "up": len(nominal) if known else None, "down": down if known else None,
                "gb_per_s_raw": round(sum(rate or 0 for rate in rates), 3) if whole else None,
                "gb_per_s_one_way": sum(filter(None, nominal)) if whole and all(nominal) else None}


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
            key = "up" if rate else "idle" if rate == 0 else "odd" if gpu["complete"] else "torn"
            key = "unread" if gpu["up"] is None else key
            one, both = (format_rate((rate or 0) * GB, both_ways=way) for way in (False, True))
            lines.append(words(f"field.{key}", **gpu, one_way=one, both_ways=both))
        return Told("\n".join([*lines, words("field.trained"), *in_words(self.findings)]))


@cache
def nominal_rate(printed: float, nvlink: str) -> float | None:
    """Return the data-sheet GB/s of a link from the printed one: 26.562 is 25 of NVLink 4.0."""
    known = [g for g in catalog.nvlinks().values() if g.get("printed_per_link")]
    rates = {g.name: (g.printed_per_link.value / GB, g.per_link.one_way / GB) for g in known}
    near, nominal = rates.get(nvlink) or min(rates.values(), key=lambda r: abs(r[0] - printed))
    return nominal if abs(near - printed) <= 0.06 * near and nvlink != "none" else None


def read(lines: list[str], stated: catalog.Gpu | None = None) -> list[tuple[int, Document]]:
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
            rate = float(match[2].replace(",", ".")) if match[2] else 0.0 if match[3] else None
            if rate is None and match[4].strip(": <inactve0123456789.GB/s"):
                gpus[-1].other = True
            else:
                gpus[-1].rates[int(match[1])] = rate
            lines[at] = ""
        if gpus and ("all links are in" in line or "not have or support" in line):
            gpus[-1].dead = True
    return [(at, explain(gpus, stated)) for at, gpus in lists
            if any(g.rates or g.dead or g.other for g in gpus)]


def explain(gpus: list[Gpu], stated: catalog.Gpu | None) -> Document:
    """Return what a list of links means."""
    if not any(g.rates or g.dead for g in gpus):
        return Unsupported(words("field.nvlink_other"), words("field.nvlink_other_reason"))
    models = {g.name: catalog.gpu.find(g.name) for g in gpus}
    most = {name: max(len(g.rates) for g in gpus if g.name == name) for name in models}
    for g in gpus:  # a name that says nothing may be that of another card
        g.model = models[g.name] or (stated if any(g.rates.values()) else None)
    status = [g.status(most[g.name]) for g in gpus]
    return Status(status, tuple(judge(gpus, status, stated)))


def judge(gpus: list[Gpu], status: list[dict[str, Any]],
          stated: catalog.Gpu | None) -> Iterator[Finding]:
    """Find links that are down or not those of the GPU, GPUs without any, and lost lines."""
    alike: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for gpu, told in zip(gpus, status, strict=True):
        model = gpu.model
        if told["up"] == 0 and told["complete"]:
            fault = model and soldered(model) and len(gpus) > 1
            alike[("all_down" if fault else "no_links",)].append(gpu.index)
        elif told["down"]:
            down = ", ".join(str(n) for n, rate in sorted(gpu.rates.items()) if rate == 0)
            yield found("links_down", [gpu.index], down=down, up=told["up"])
        if model and (odd := [n for n, r in gpu.rates.items()
                              if r and not nominal_rate(r, model.nvlink)]):
            rates = ", ".join(f"{rate:g}" for rate in sorted({gpu.rates[n] or 0 for n in odd}))
            alike["odd_rate", model.name, rates, ", ".join(map(str, odd))].append(gpu.index)
        if not told["complete"]:
            alike[("list_cut" if gpu is gpus[-1] else "list_gaps",)].append(gpu.index)
    for (code, *values), numbers in alike.items():
        yield found(code, numbers, **dict(zip(("model", "rates", "links"), values, strict=False)))
    named = {gpu.name: gpu.model.nvlink for gpu in gpus if gpu.model}
    if stated and named and stated.nvlink not in named.values():
        yield found("other_name", name=", ".join(named), model=stated.name)
    if gpus[0].index > 0:
        yield found("list_starts", first=gpus[0].index)
