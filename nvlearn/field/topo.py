"""Explain a matrix of `nvidia-smi topo -m`: the fabric, what to expect, what is wrong."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from nvlearn.catalog import Gpu
from nvlearn.field.fabric import Counts, Fabric, agreed, analyse, islands, link_count, soldered
from nvlearn.field.findings import Document, Finding, Unsupported, found, gpu_names, in_words
from nvlearn.field.matrix import NEAR, Block, blocks, is_gpu, number
from nvlearn.i18n import Told, words
from nvlearn.units import GB, format_rate

Labels = list[list[str | None]]


@dataclass(frozen=True)
class Topo(Document):
    """How the GPUs of a machine are joined."""

    kind = "topo"

    gpus: int
    gpu_rows: int
    links: Labels
    nvlinks_per_gpu: list[int | None]
    fabric: str
    fully_connected: bool | None
    generation: str | None
    gb_per_s_one_way: list[float | None]
    nics: list[str]
    nearest_nics: dict[str, list[str]]
    findings: tuple[Finding, ...]
    numbers: list[int]
    model: str | None
    pcie_gb_per_s_one_way: float | None

    def in_words(self) -> str:
        """Say what the machine is, how it is joined, what to expect, what is wrong."""
        model = words("field.stated", model=self.model) if self.model else ""
        top = max((n for n in self.nvlinks_per_gpu if n), default=0)
        lines = [words("field.machine", gpus=self.gpus, model=model, nics=len(self.nics)),
                 words(f"field.joined_{self.fabric}", links=top), *self.expectations()]
        if self.nearest_nics:
            near = [f"GPU{gpu}: {', '.join(names)}" for gpu, names in self.nearest_nics.items()]
            lines.append(words("field.nearest", nics="; ".join(near)))
        return Told("\n".join([*lines, *in_words(self.findings)]))

    def expectations(self) -> Iterator[str]:
        """Say what each GPU can send one way and both ways; GPUs that are alike together."""
        told = [*zip(self.nvlinks_per_gpu, self.gb_per_s_one_way, strict=True)]
        for links, rate in dict.fromkeys((links, rate) for links, rate in told if rate):
            gpus = [gpu for gpu, own in zip(self.numbers, told, strict=True) if own[0] == links]
            who = words("field.each") if len(gpus) == self.gpus else gpu_names(gpus)
            yield words("field.expect", gpus=who, links=links, one_way=format_rate(rate * GB),
                        both_ways=format_rate(rate * GB, both_ways=True))


def read(lines: list[str], stated: Gpu | None = None) -> list[tuple[int, Document]]:
    """Take every matrix out of a paste, each with the line it begins at."""
    return [(block.start, explain(block, stated)) for block in blocks(lines)]


def explain(block: Block, stated: Gpu | None) -> Document:
    """Return what a matrix means, or that another tool printed it."""
    if block.foreign:
        return Unsupported(words("field.foreign"), words("field.foreign_reason"))
    names, numbers = block.gpus, [*map(number, block.gpus)]
    labels = [[block.labels.get((a, b)) for b in names] for a in names]
    told = {} if block.pcie_only else {
        pair: int(cell[2:] if cell[:2] == "NV" else 0) for pair, cell in block.labels.items()}
    counts = [[0 if a == b else told.get((a, b), told.get((b, a))) for b in names] for a in names]
    grace = any(len(row.tail) == 3 and row.tail[2].isdecimal() for row in block.rows.values())
    fabric = analyse(counts, grace, stated)
    cells = {count for i, row in enumerate(counts) for j, count in enumerate(row) if i != j}
    joined = False if 0 in cells else True if cells and None not in cells else None
    one = agreed(fabric.candidates, "per_link")
    road = agreed((stated,) if stated else fabric.candidates, "pcie_raw")
    rates = [0.0 if k == 0 else round(k * one / GB, 6) if k and one else None for k in fabric.links]
    # a row that was cut may have lost its nearest NIC
    far = {gpu: to for gpu, name in zip(numbers, names, strict=True)
           if len(to := ways(block, name)) == len(block.nics) > 0}
    near = {str(gpu): [nic for nic, way in to.items() if way == min(to.values())]
            for gpu, to in far.items()}
    links = dict(zip(numbers, fabric.links, strict=True))
    findings = (*damage(block, labels), *faults(links, counts, fabric, stated),
                *notes(links, labels, fabric, counts, far))
    return Topo(len(names), sum(map(block.whole, names)), labels, fabric.links, fabric.kind, joined,
                fabric.generation, rates, block.nics, near, findings, numbers,
                stated.name if stated else None, road / GB if road else None)


def ways(block: Block, gpu: str) -> dict[str, int]:
    """Return how far each NIC is from a GPU, from either row, where that was read."""
    return {nic: NEAR[label] for nic in block.nics
            if (label := block.labels.get((gpu, nic)) or block.labels.get((nic, gpu))) in NEAR}


def damage(block: Block, labels: Labels) -> Iterator[Finding]:
    """Find what the paste has lost."""
    if lost := [number(name) for name in block.gpus if not block.whole(name)]:
        yield found("cut", lost, read=len(block.gpus) - len(lost), count=len(block.gpus))
    if strays := sorted(map(number, filter(is_gpu, block.rows.keys() - {*block.columns}))):
        yield found("no_column", strays)
    if not block.headed:
        yield found("no_header", count=len(block.gpus))
    if block.pcie_only:
        yield found("pcie_matrix")
    if odd := [number(name) for i, name in enumerate(block.gpus) if any(
            a and row[i] and a != row[i] for a, row in zip(labels[i], labels, strict=True))]:
        yield found("asymmetric", odd)


def faults(links: dict[int, int | None], counts: Counts, fabric: Fabric,
           stated: Gpu | None) -> Iterator[Finding]:
    """Find GPUs with too few links, or with none where others have them."""
    top = fabric.most
    bare, few = [i for i in links if links[i] == 0], [i for i in links if 0 < (links[i] or 0) < top]
    strong = len(links) == 8 or any(k and k > 2 for row in counts for k in row)
    board = fabric.kind == "mesh" and bool(few) and strong
    if top and bare:
        yield found("off_fabric" if fabric.kind == "switch" or board else "apart", bare, links=top)
    if fabric.kind == "switch" and (pairs := weak_pairs(links, counts)):
        often = Counter(gpu for pair in pairs for gpu in pair)
        worst = {gpu for a, b in pairs for gpu in (a, b) if often[gpu] == max(often[a], often[b])}
        told = ", ".join(f"GPU{a}-GPU{b}" for a, b in pairs[:6])
        yield found("pair_apart", sorted(worst), count=len(pairs), pairs=told)
    if few and (fabric.kind in ("switch", "pairs") or board):
        yield found("uneven", few, links=top)
    if stated:
        own, on_board = link_count(stated), soldered(stated)
        if top and not fabric.candidates:
            yield found("mismatch", links=top, model=stated.name, own=own)
        elif 0 < top < own:
            code = "half_contact" if fabric.kind == "switch" or not on_board else "links_elsewhere"
            yield found(code, filter(links.get, links), links=top, model=stated.name, own=own)
        elif fabric.kind == "none" and on_board:
            yield found("no_nvlink", links, model=stated.name)


def weak_pairs(links: dict[int, int | None], counts: Counts) -> list[tuple[int, int]]:
    """Return the pairs that NVLink joins, but with fewer links than each of the two GPUs has."""
    own = [(gpu, count or 0) for gpu, count in links.items()]
    pairs = [pair for group in islands(counts) for pair in combinations(sorted(group), 2)]
    return [(own[i][0], own[j][0]) for i, j in pairs if counts[i][j] is not None
            and max(counts[i][j] or 0, counts[j][i] or 0) < min(own[i][1], own[j][1])]


def notes(links: dict[int, int | None], labels: Labels, fabric: Fabric, counts: Counts,
          far: dict[int, dict[str, int]]) -> Iterator[Finding]:
    """Say what is normal but worth knowing, and what cannot be known."""
    cells = {label for row in labels for label in row}
    # two GPUs without a switch are joined by a bridge
    if sum(len(group) > (1 if fabric.kind == "switch" else 2) for group in islands(counts)) > 1:
        yield found("islands")
    elif fabric.kind == "mesh" and 0 not in links.values() and cells & {*NEAR}:
        yield found("two_hops")
    if fabric.kind == "none":
        yield found("pcie_only", links)
    if fabric.kind in ("none", "pairs") and cells & {"SYS", "SOC"}:
        yield found("sockets_split")
    rates: dict[str, list[str]] = {}
    for gpu in fabric.candidates:
        rate = (fabric.most or link_count(gpu)) * gpu.per_link.one_way
        rates.setdefault(format_rate(rate), []).append(gpu.name)
    if len(rates) > 1:
        told = "; ".join(f"{', '.join(names)}: {rate}" for rate, names in rates.items())
        yield found("ambiguous", ways=told, example=fabric.candidates[0].name)
    if lone := [gpu for gpu, to in far.items() if min(to.values()) > NEAR["PHB"]]:
        yield found("nic_far", lone)
