"""Explain a matrix of `nvidia-smi topo -m`: the fabric, what to expect, what is wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nvlearn.catalog import Gpu
from nvlearn.field.fabric import Counts, Fabric, analyse, islands, link_count, soldered
from nvlearn.field.findings import Document, Finding, Unsupported, found, gpu_names, in_words
from nvlearn.field.matrix import NEAR, Block, blocks, number
from nvlearn.i18n import words
from nvlearn.units import GB, format_rate


@dataclass(frozen=True)
class Topo:
    """How the GPUs of a machine are joined."""

    gpus: int
    gpu_rows: int
    links: list[list[str | None]]
    nvlinks_per_gpu: list[int | None]
    fabric: str
    fully_connected: bool | None
    generation: str | None
    gb_per_s_one_way: list[float | None]
    nics: list[str]
    nearest_nics: dict[str, list[str]]
    findings: tuple[Finding, ...]
    numbers: list[int]
    nic_names: dict[str, str]
    model: str | None

    def as_json(self) -> dict[str, Any]:
        """Return it in the form of `nvlearn read --json`."""
        findings = [f.as_json() for f in self.findings]
        return {"kind": "topo", **asdict(self), "findings": findings}

    def in_words(self) -> str:
        """Say what the machine is, how it is joined, what to expect, what is wrong."""
        model = words("field.stated", model=self.model) if self.model else ""
        top = max((n for n in self.nvlinks_per_gpu if n), default=0)
        lines = [words("field.machine", gpus=self.gpus, model=model, nics=len(self.nics)),
                 words(f"field.joined_{self.fabric}", links=top), *self.expectations()]
        if self.nearest_nics:
            near = [f"GPU{gpu}: {', '.join(names)}" for gpu, names in self.nearest_nics.items()]
            lines.append(words("field.nearest", nics="; ".join(near)))
        return "\n".join([*lines, *in_words(self.findings)])

    def expectations(self) -> Iterator[str]:
        """Say what each GPU can send one way and both ways; GPUs that are alike together."""
        alike: dict[tuple[float, int | None], list[int]] = {}
        for gpu, rate, links in zip(self.numbers, self.gb_per_s_one_way, self.nvlinks_per_gpu,
                                    strict=True):
            if rate:
                alike.setdefault((rate, links), []).append(gpu)
        for (rate, links), gpus in alike.items():
            who = words("field.each") if len(gpus) == self.gpus else gpu_names(gpus)
            yield words("field.expect", gpus=who, links=links, one_way=format_rate(rate * GB),
                        both_ways=format_rate(rate * GB, both_ways=True))


def read(lines: Sequence[str], stated: Gpu | None = None) -> list[tuple[int, Document]]:
    """Read every matrix of a paste, each with the line it begins at."""
    return [(block.start, explain(block, stated)) for block in blocks(lines)]


def explain(block: Block, stated: Gpu | None) -> Document:
    """Return what a matrix means, or that another tool printed it."""
    if block.foreign:
        return Unsupported(words("field.foreign"), words("field.foreign_reason"))
    names, n = block.gpus, len(block.gpus)
    labels = [[block.cell(a, b) for b in names] for a in names]
    counts = [[0 if i == j else link_number(labels[i][j] or labels[j][i]) for j in range(n)]
              for i in range(n)]
    if block.pcie_only:
        counts = [[None] * n] * n
    tails = [block.tails.get(name, []) for name in names]
    grace = any(len(tail) == 3 and tail[2].isdecimal() for tail in tails)
    fabric = analyse(counts, grace, stated)
    cells = [counts[i][j] for i in range(n) for j in range(n) if i != j]
    joined = False if 0 in cells else None if None in cells or not cells else True
    per_link = fabric.per_link
    rates = [0.0 if k == 0 else round(k * per_link / GB, 6) if k and per_link else None
             for k in fabric.links]
    near = {str(number(gpu)): nearest(block, gpu) for gpu in names}
    findings = [*damage(block), *faults(block, counts, fabric, stated), *notes(block, fabric)]
    return Topo(
        n, sum(map(block.whole, names)), labels, fabric.links, fabric.kind, joined,
        fabric.generation, rates, block.nics, {gpu: found for gpu, found in near.items() if found},
        tuple(findings), [*map(number, names)], block.legend, stated.name if stated else None)


def link_number(label: str | None) -> int | None:
    """Return the NVLinks of a label, None if it was not read."""
    return None if label is None else int(label[2:]) if label[:2] == "NV" else 0


def ways(block: Block, gpu: str) -> dict[str, int]:
    """Return how far each NIC is from a GPU, from either row, where that was read."""
    labels = {nic: block.cell(gpu, nic) or block.cell(nic, gpu) for nic in block.nics}
    return {nic: NEAR[label] for nic, label in labels.items() if label and label in NEAR}


def nearest(block: Block, gpu: str) -> list[str]:
    """Return the NICs that are nearest to a GPU."""
    far = ways(block, gpu)
    best = min(far.values(), default=0)
    return [nic for nic, way in far.items() if way == best]


def damage(block: Block) -> Iterator[Finding]:
    """Find what the paste has lost."""
    lost = [number(name) for name in block.gpus if not block.whole(name)]
    if lost:
        yield found("cut", lost, read=len(block.gpus) - len(lost), count=len(block.gpus))
    if not block.headed:
        yield found("no_header", count=len(block.gpus))
    if block.pcie_only:
        yield found("pcie_matrix")
    pairs = [(a, b) for a in block.gpus for b in block.gpus]
    odd = {number(a) for a, b in pairs if len({block.cell(a, b), block.cell(b, a)} - {None}) > 1}
    if odd:
        yield found("asymmetric", sorted(odd))


def faults(block: Block, counts: Counts, fabric: Fabric, stated: Gpu | None) -> Iterator[Finding]:
    """Find GPUs with too few links, or with none where others have them."""
    links, top = dict(zip(map(number, block.gpus), fabric.links, strict=True)), fabric.most
    bare, few = [i for i in links if links[i] == 0], [i for i in links if 0 < (links[i] or 0) < top]
    strong = len(links) == 8 or any(k and k > 2 for row in counts for k in row)
    board = fabric.kind == "mesh" and bool(few) and strong
    if top and bare:
        yield found("off_fabric" if fabric.kind == "switch" or board else "apart", bare, links=top)
    if few and (fabric.kind in ("switch", "pairs") or board):
        yield found("uneven", few, links=top)
    if fabric.kind == "switch" and sum(len(group) > 2 for group in islands(counts)) > 1:
        yield found("islands")
    if stated:
        own, on_board = link_count(stated) or 0, soldered(stated)
        if top and not fabric.candidates:
            yield found("mismatch", links=top, model=stated.name, own=own)
        elif 0 < top < own:
            code = "half_contact" if fabric.kind == "switch" or not on_board else "links_elsewhere"
            yield found(code, filter(links.get, links), links=top, model=stated.name, own=own)
        elif fabric.kind == "none" and on_board:
            yield found("no_nvlink", links, model=stated.name)


def notes(block: Block, fabric: Fabric) -> Iterator[Finding]:
    """Say what is normal but worth knowing, and what cannot be known."""
    cells = {block.cell(a, b) for a in block.gpus for b in block.gpus}
    if fabric.kind == "none":
        yield found("pcie_only", map(number, block.gpus))
    if fabric.kind == "mesh" and 0 not in fabric.links and cells & {*NEAR}:
        yield found("two_hops")
    if fabric.kind in ("none", "pairs") and cells & {"SYS", "SOC"}:
        yield found("sockets_split")
    rates: dict[str, list[str]] = {}
    for gpu in fabric.candidates:
        links = fabric.most or link_count(gpu) or 0
        rates.setdefault(format_rate(links * gpu.per_link.one_way), []).append(gpu.name)
    if len(rates) > 1:
        told = "; ".join(f"{', '.join(names)}: {rate}" for rate, names in rates.items())
        yield found("ambiguous", ways=told)
    best = {number(gpu): min(ways(block, gpu).values(), default=0) for gpu in block.gpus}
    if far := [gpu for gpu, way in best.items() if way > NEAR["PHB"]]:
        yield found("nic_far", far)
