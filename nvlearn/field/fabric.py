"""Infer from a matrix of link counts how GPUs are joined, and which GPUs it can be."""

from collections.abc import Sequence
from dataclasses import dataclass

from nvlearn.catalog import Gpu, gpus, systems

MOST_LINKS = 18  # of any GPU that has shipped: a larger row sum repeats links through a switch
SWITCHED = (6, 8, 12, 18, 36)  # links of the GPUs that exist behind a switch

Counts = Sequence[Sequence[int | None]]


@dataclass(frozen=True)
class Fabric:
    """The kind of fabric, the links that leave each GPU, and the GPUs that fit them."""

    kind: str
    links: list[int | None]
    candidates: tuple[Gpu, ...]

    @property
    def most(self) -> int:
        """The links of the GPU that has the most."""
        return max((n for n in self.links if n), default=0)

    @property
    def generation(self) -> str | None:
        """The generation, if all candidates share it; that of GA102 is a kind of 3.0."""
        exact = {g.nvlink for g in self.candidates}
        names = {name.split(" (")[0] for name in exact}
        return min(exact if len(exact) == 1 else names) if len(names) == 1 else None


def agreed(candidates: Sequence[Gpu], name: str) -> float | None:
    """Return a rate one way that some GPUs have in common, None if they have not."""
    rates = {figure.one_way if figure else None for figure in (g.get(name) for g in candidates)}
    return rates.pop() if len(rates) == 1 else None


def link_count(gpu: Gpu | None) -> int:
    """Return how many NVLinks a GPU has; 0 if it has none or the tables do not say."""
    links = gpu.get("links") if gpu else None
    return links.count if links else 0


def soldered(gpu: Gpu) -> bool:
    """Tell whether a GPU sits on a board that joins it, rather than taking a bridge."""
    return "bridge" not in gpu.note and ("SXM" in gpu.name or link_count(gpu) >= 6)


def islands(counts: Counts) -> list[set[int]]:
    """Return the groups of GPUs that NVLink joins."""
    groups: list[set[int]] = []
    for i, row in enumerate(counts):
        group = {i, *(j for j, links in enumerate(row) if links)}
        met = [other for other in groups if other & group]
        groups = [other for other in groups if other not in met] + [group.union(*met)]
    return groups


def analyse(counts: Counts, grace: bool, stated: Gpu | None) -> Fabric:
    """Infer the fabric of a matrix; None is a cell that was not read.

    grace tells that the memory of the GPUs is a NUMA node, as on Grace superchips.
    """
    kind = kind_of(counts, grace, stated)
    links = [links_of(i, counts, kind) for i in range(len(counts))]
    fabric = Fabric(kind, links, candidates(kind, links, counts))
    if not stated:
        return fabric
    fits = stated.get("per_link") and (link_count(stated) or fabric.most) >= fabric.most
    return Fabric(kind, links, (stated,) if fits else ())


def kind_of(counts: Counts, grace: bool, stated: Gpu | None) -> str:
    """Return switch, mesh, pairs, none or unknown."""
    cells = [c for i, row in enumerate(counts) for j, c in enumerate(row) if i != j]
    if not any(cells):
        return "none" if cells and None not in cells else "unknown"
    if max(sum(c or 0 for c in row) for row in counts) > MOST_LINKS:
        return "switch"
    groups = islands(counts)
    group = max(groups, key=len)
    inside = {counts[i][j] for i in group for j in group if i != j} - {None}
    top = max(c for c in inside if c)
    if len(group) == 2:
        hidden = len(counts) == 2 and top in SWITCHED and not (stated and not soldered(stated))
        return "unknown" if hidden else "pairs"
    apart = sum(len(group) > 2 for group in groups) > 1  # a switch would join them
    if top not in SWITCHED or len(inside) > 1 or apart:
        return "mesh"
    own = link_count(stated) or (top if top > 6 else 0)
    return "switch" if own == top else "mesh" if grace or own > top else "unknown"


def links_of(i: int, counts: Counts, kind: str) -> int | None:
    """Return the links that leave a GPU: repeated behind a switch, to be summed elsewhere."""
    cells = [c for j, c in enumerate(counts[i]) if j != i]
    known = [c for c in cells if c is not None]
    if kind in ("switch", "pairs"):
        seen = any(c == 0 and any(counts[j]) for j, c in enumerate(counts[i]) if j != i)
        sure = len(known) == len(cells) or (kind == "switch" and seen)
        return max(known, default=0) or (0 if sure else None)
    blurred = kind == "unknown" and len(counts) > 2
    return sum(known) if known and len(known) == len(cells) and not blurred else None


def candidates(kind: str, links: Sequence[int | None], counts: Counts) -> tuple[Gpu, ...]:
    """Return the GPUs of the catalog that can show these links in this kind of fabric."""
    labels = {c for row in counts for c in row if c}
    sums = {n for n in links if n}
    top = max(sums | labels, default=0)
    if kind == "switch":
        return tuple(g for g in gpus().values() if soldered(g) and link_count(g) == top)
    boards = [s for s in systems().values() if s.matrix]
    if kind == "mesh":
        fit = {s.gpu for s in boards if s.layout == "mesh" and len(sums) == 1
               and labels == {n for row in s.matrix for n in row if n} and sum(s.matrix[0]) in sums}
    else:  # fewer than four links are a slice of a mesh, a weak bridge or a link to the CPU
        fit = {s.gpu for s in boards if any(top in row for row in s.matrix)}
        fit |= {g.name for g in gpus().values() if link_count(g) == top
                and (top in SWITCHED or not soldered(g))}
        fit = fit if top >= 4 else set()
    return tuple(g for g in gpus().values() if g.name in fit)
