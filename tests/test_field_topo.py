"""Matrices of `nvidia-smi topo -m` as people paste them, and kinds like them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from field_cases import codes, failures, runs, text_of

from nvlearn import field

GB = "gb_per_s_one_way"


def matrix(n: int, cell: Callable[[int, int], str], tail: str = "\t0-31\t0\t\tN/A") -> str:
    """Print a matrix; the NIC of a pair of GPUs is nearest to it."""
    names = [f"GPU{i}" for i in range(n)] + [f"NIC{i}" for i in range(n // 2)]
    lines = ["\t".join(["", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for i in range(n):
        cells = [" X " if i == j else cell(i, j) for j in range(n)]
        cells += ["PIX" if i // 2 == k else "SYS" for k in range(n // 2)]
        lines.append("\t".join([f"GPU{i}", *cells]) + tail)
    return "\n".join(lines) + "\n"


def everywhere(label: str) -> Callable[[int, int], str]:
    return lambda i, j: label


def groups(label: str, size: int, other: str = "SYS") -> Callable[[int, int], str]:
    return lambda i, j: label if i // size == j // size else other


def read(text: str, gpu: str | None = None) -> dict[str, Any]:
    (document,) = field.read(text, gpu)
    return document.as_json()


@pytest.mark.parametrize(("name", "gpu", "checks"), runs("topo"))
def test_printouts(name: str, gpu: str | None, checks: list[dict[str, Any]]) -> None:
    assert failures(text_of(name), gpu, checks) == []


FULL = {
    "DGX-2": (matrix(16, everywhere("NV6")), None, "switch", 6, 150, "NVLink 2.0"),
    "DGX A100": (matrix(8, everywhere("NV12")), None, "switch", 12, 300, "NVLink 3.0"),
    "NVL72 tray": (matrix(4, everywhere("NV18")), "GB200", "switch", 18, 900, "NVLink 5.0"),
    "NVL72": (matrix(72, everywhere("NV18")), "GB300", "switch", 18, 900, "NVLink 5.0"),
    "H100 unstated": (matrix(8, everywhere("NV18")), None, "switch", 18, None, None),
    "A800 or H800": (matrix(8, everywhere("NV8")), None, "switch", 8, 200, None),
    "GH200": (matrix(4, everywhere("NV6"), "\t0-71\t0\t\t4"), None, "mesh", 18, 450, "NVLink 4.0"),
    "GH200 stated": (matrix(4, everywhere("NV6")), "GH200", "mesh", 18, 450, "NVLink 4.0"),
    "H200 NVL": (matrix(4, everywhere("NV6")), "H200 NVL", "mesh", 18, 450, "NVLink 4.0"),
    "slice of DGX-2": (matrix(4, everywhere("NV6")), "V100", "switch", 6, 150, "NVLink 2.0"),
    "NV6 alone": (matrix(4, everywhere("NV6")), None, "unknown", None, None, None),
    "A100 board": (matrix(4, everywhere("NV4")), None, "mesh", 12, 300, "NVLink 3.0"),
    "A100 pairs": (matrix(6, groups("NV12", 2)), "A100 PCIe", "pairs", 12, 300, "NVLink 3.0"),
    "pairs of NV12": (matrix(4, groups("NV12", 2)), None, "pairs", 12, 300, None),
    "A30 pairs": (matrix(4, groups("NV4", 2)), "A30", "pairs", 4, 100, "NVLink 3.0"),
    "bridge unstated": (matrix(2, everywhere("NV4")), None, "pairs", 4, None, "NVLink 3.0"),
    "two of H200": (matrix(2, everywhere("NV18")), None, "unknown", 18, None, None),
    "Summit": (matrix(6, groups("NV2", 3)), "V100", "mesh", 4, 100, "NVLink 2.0"),
    "two boards": (matrix(16, groups("NV12", 8)), None, "switch", 12, 300, "NVLink 3.0"),
    "P100": (
        matrix(8, lambda i, j: "NV1" if i // 4 == j // 4 or abs(i - j) == 4 else "SOC"),
        None, "mesh", 4, 80, "NVLink 1.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("machine", FULL)
def test_healthy_machines(machine: str) -> None:
    text, gpu, fabric, links, rate, generation = FULL[machine]
    document = read(text, gpu)
    count = document["gpus"]
    assert document["fabric"] == fabric
    assert document["nvlinks_per_gpu"] == [links] * count
    assert document[GB] == [rate] * count
    assert document["generation"] == generation
    assert document["gpu_rows"] == count
    assert {f["severity"] for f in document["findings"]} <= {"info"}
    assert document["nearest_nics"] == {str(i): [f"NIC{i // 2}"] for i in range(count)}


def test_a_gpu_off_the_fabric_is_a_fault() -> None:
    off = {1, 6}
    document = read(matrix(8, lambda i, j: "SYS" if {i, j} & off else "NV18"), "H100")
    assert codes(document) == {"off_fabric": [1, 6]}
    assert document["findings"][0]["severity"] == "fault"
    assert document[GB] == [450, 0, 450, 450, 450, 450, 0, 450]


def test_a_mesh_that_lost_a_gpu_is_a_fault_and_a_display_card_is_not() -> None:
    lines = text_of("topo/26-dgx1-v100-nic-columns-out-of-order.txt").splitlines()
    cells = [line.split("\t") for line in lines]
    for row in range(1, 9):
        for column in range(1, 9):
            if 3 in (row - 1, column - 1) and row != column:
                cells[row][column] = "SYS"
    document = read("\n".join("\t".join(row) for row in cells))
    assert codes(document)["off_fabric"] == [3]
    station = read(matrix(5, lambda i, j: "PHB" if 4 in (i, j) else "NV4"))
    assert codes(station)["apart"] == [4]
    assert station["nvlinks_per_gpu"] == [12, 12, 12, 12, 0]


@pytest.mark.parametrize(
    ("text", "gpu", "code", "gpus"),
    [
        (matrix(8, lambda i, j: "NV17" if 3 in (i, j) else "NV18"), None, "uneven", [3]),
        (matrix(4, lambda i, j: ["NV4", "NV2"][i // 2] if i // 2 == j // 2 else "PHB"), None,
         "uneven", [2, 3]),
        (matrix(4, lambda i, j: "NV3" if {i, j} == {0, 1} else "NV4"), None, "uneven", [0, 1]),
        (matrix(2, everywhere("NV8")), "A100 PCIe", "half_contact", [0, 1]),
        (matrix(2, everywhere("NV1")), "RTX 2080 Ti", "half_contact", [0, 1]),
        (matrix(8, everywhere("NV16")), "B200", "half_contact", [*range(8)]),
        (matrix(2, everywhere("NV4")), "RTX 4090", "mismatch", []),
        (matrix(8, everywhere("NV18")), "A100", "mismatch", []),
        (matrix(8, everywhere("NODE")), "H100", "no_nvlink", [*range(8)]),
        (matrix(2, lambda i, j: "NV4" if i else "NV2"), None, "asymmetric", [0, 1]),
    ],
)  # fmt: skip
def test_what_deserves_a_warning(text: str, gpu: str | None, code: str, gpus: list[int]) -> None:
    document = read(text, gpu)
    assert codes(document)[code] == gpus
    assert {f["code"]: f["severity"] for f in document["findings"]}[code] == "warning"


@pytest.mark.parametrize("gpu", ["RTX 3090", "A100 PCIe", "RTX 5090", None])
def test_cards_without_a_bridge_are_in_order(gpu: str | None) -> None:
    document = read(matrix(4, groups("PHB", 2)), gpu)
    assert set(codes(document)) == {"pcie_only", "sockets_split"}
    assert document[GB] == [0] * 4
    assert document["fully_connected"] is False


def test_links_that_go_to_the_cpu_are_no_fault() -> None:
    document = read(matrix(4, groups("NV3", 2)), "V100")
    assert codes(document) == {"links_elsewhere": [0, 1, 2, 3], "sockets_split": []}


def test_one_gpu_says_nothing() -> None:
    document = read(matrix(1, everywhere("")))
    assert document["nvlinks_per_gpu"] == [None]
    assert document["fabric"] == "unknown"
    assert document["fully_connected"] is None


# --- torn and reshaped pastes -----------------------------------------------

WHOLE = matrix(8, groups("NV12", 2))


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("\t", "  "),
        WHOLE.replace("\n", "\r\n"),
        "\ufeff" + WHOLE,
        "".join(f"# {line}\n" for line in WHOLE.splitlines()),
        "".join(f"> {line}\n" for line in WHOLE.splitlines()),
        "".join(f"| {line}|\n" for line in WHOLE.replace("\t", " | ").splitlines()),
        "".join(f"[1,0]<stdout>:{line}\n" for line in WHOLE.splitlines()),
        "".join(f"node07: {line}\n" for line in WHOLE.splitlines()),
        "".join(f"2026-01-02T03:04:05.678Z {line}\n" for line in WHOLE.splitlines()),
        WHOLE.replace("\tGPU0", "\t\x1b[4mGPU0").replace("NUMA ID", "NUMA ID\x1b[0m"),
        "```\n$ nvidia-smi topo -m\n" + WHOLE + "```\n[user@host ~]$ ",
        WHOLE.replace("SYS", "SOC"),
        WHOLE.replace("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID", "").replace(
            "\t0-31\t0\t\tN/A", ""
        ),
        WHOLE.replace("GPU6\tGPU7", "GPU6GPU7").replace("SYS\tSYS\tSYS\t0", "SYSSYS  SYS 0"),
        WHOLE.replace("0-31\t0\t\tN/A", "0-7,16-23\t\tN/A\t\tN/A"),
        WHOLE.replace("0-31\t0", "\t1"),
        WHOLE.replace("NIC", "mlx5_"),
    ],
)
def test_the_same_matrix_in_other_clothes(text: str) -> None:
    document, plain = read(text), read(WHOLE)
    for key in ("gpus", "gpu_rows", "nvlinks_per_gpu", "fabric", GB, "generation"):
        assert document[key] == plain[key], key
    assert [len(names) for names in document["nearest_nics"].values()] == [1] * 8


def test_rows_and_columns_in_any_order() -> None:
    head, *rows = [line.split("\t") for line in WHOLE.splitlines()]
    order = [0, 9, 8, 3, 10, 1, 2, 12, 4, 7, 5, 11, 6, 13, 14, 15, 16]
    lines = [[head[i] for i in order[:13]] + head[13:]]
    lines += [[row[i] for i in order[:13]] + row[13:] for row in rows[::-1]]
    assert read("\n".join(map("\t".join, lines)))["links"] == read(WHOLE)["links"]


def test_only_a_header_and_only_rows() -> None:
    head, rows = WHOLE.split("\n", 1)
    document = read(head)
    assert (document["gpus"], document["gpu_rows"]) == (8, 0)
    assert document["nvlinks_per_gpu"] == [None] * 8
    assert codes(document) == {"cut": [*range(8)]}
    document = read(rows)
    assert (document["gpus"], document["gpu_rows"], document["fabric"]) == (8, 8, "pairs")
    assert "no_header" in codes(document)
    assert document["nics"] == ["NIC0", "NIC1", "NIC2", "NIC3"]


@pytest.mark.parametrize("lost", [1, 3, 5])
def test_a_switch_is_known_from_the_rows_that_are_left(lost: int) -> None:
    lines = matrix(8, everywhere("NV18")).splitlines()
    document = read("\n".join(lines[: 9 - lost]), "H100")
    assert (document["gpus"], document["gpu_rows"]) == (8, 8 - lost)
    assert document[GB] == [450] * 8
    assert codes(document) == {"cut": [*range(8 - lost, 8)]}
    document = read("\n".join(lines[1 + lost :]), "H100")  # the top is lost, the header too
    assert (document["gpus"], document["gpu_rows"]) == (8, 8 - lost)


def test_a_torn_label_is_not_read_as_fewer_links() -> None:
    text = matrix(8, everywhere("NV18"))
    for end in range(text.index("GPU7\tNV"), len(text) - 60):
        assert read(text[:end], "H100")["nvlinks_per_gpu"] == [18] * 8


def test_a_row_that_does_not_fit_is_not_read() -> None:
    text = WHOLE.replace("GPU2\tSYS\tSYS\t", "GPU2\tSYS\t")
    document = read(text)
    assert document["links"][2] == [None] * 8
    assert document["nvlinks_per_gpu"] == [12] * 8
    assert codes(document)["cut"] == [2]


def test_topo_mp_shows_no_nvlink_and_proves_nothing() -> None:
    document = read("$ nvidia-smi topo -mp\n" + matrix(8, everywhere("NODE")), "H100")
    assert codes(document) == {"pcie_matrix": []}
    assert document["nvlinks_per_gpu"] == [None] * 8


def test_words_say_both_directions_and_what_to_do() -> None:
    (document,) = field.read(matrix(8, everywhere("NV18")), "H100")
    said = document.in_words()
    assert "450 GB/s one way" in said
    assert "900 GB/s both ways" in said
    (document,) = field.read(matrix(2, everywhere("NV4")))
    assert "56.25 GB/s one way" in document.in_words()
    assert "--gpu" in document.in_words()
    (document,) = field.read(text_of("topo/47-2x3090-NV3-bridge-half-contact.txt"), "RTX 3090")
    assert "Warning: GPU0 and GPU1: 3 of the 4 links" in document.in_words()


@pytest.mark.parametrize("gpu", ["RTX 3990", "banana"])
def test_an_unknown_gpu_gets_the_nearest_names(gpu: str) -> None:
    with pytest.raises(ValueError, match="nearest names are"):
        field.read(WHOLE, gpu)
