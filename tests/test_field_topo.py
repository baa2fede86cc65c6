"""Matrices of `nvidia-smi topo -m` as people paste them, and kinds like them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from field_cases import codes, failures, runs, text_of

from nvlearn import field
from nvlearn.field import documents

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
    "H200 NVL twice": (matrix(8, groups("NV6", 4)), None, "mesh", 18, 450, "NVLink 4.0"),
    "L40S": (matrix(8, groups("PIX", 2, "NODE")), "L40S", "none", 0, 0, None),
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


SWITCH = matrix(8, everywhere("NV18"))


def apart(pairs: set[frozenset[int]], label: str = "SYS") -> str:
    return matrix(8, lambda i, j: label if frozenset((i, j)) in pairs else "NV18")


@pytest.mark.parametrize("label", ["SYS", "NODE", "NV9"])
@pytest.mark.parametrize(
    ("pairs", "gpus", "told"),
    [
        ({frozenset((2, 5))}, [2, 5], "(pairs: 1): GPU2-GPU5"),
        ({frozenset((2, 5)), frozenset((1, 6))}, [1, 2, 5, 6], "GPU1-GPU6, GPU2-GPU5"),
        ({frozenset((3, j)) for j in (0, 1, 2, 4, 5, 6)}, [3], "(pairs: 6): GPU0-GPU3"),
    ],
)
def test_pairs_that_a_switch_does_not_join_are_told(
    pairs: set[frozenset[int]], gpus: list[int], told: str, label: str
) -> None:
    (document,) = field.read(apart(pairs, label), "H100")
    (finding,) = document.findings
    assert (finding.code, finding.severity, finding.gpus) == ("pair_apart", "warning", gpus)
    assert told in finding.text
    assert "every cell" not in document.in_words()


def test_what_is_told_of_a_gpu_is_not_told_again_of_its_pairs() -> None:
    off = {frozenset((3, j)) for j in range(8)}
    assert codes(read(apart(off), "H100")) == {"off_fabric": [3]}
    assert codes(read(apart(off, "NV17"), "H100")) == {"uneven": [3]}
    one_row = SWITCH.replace("GPU0\t X \tNV18", "GPU0\t X \tNV9")
    assert codes(read(one_row, "H100")) == {"asymmetric": [0, 1]}
    two_of = {frozenset((i, j)) for i in range(6) for j in (6, 7)}
    assert codes(read(apart(two_of), "H100")) == {"islands": []}
    halves = {frozenset((i, j)) for i in range(4) for j in range(4, 8)}
    assert codes(read(apart(halves), "H100")) == {"islands": []}


@pytest.mark.parametrize("columns", [2, 5, 7])
def test_columns_that_were_cut_off_are_missed(columns: int) -> None:
    lines = ["\t".join(line.split("\t")[: columns + 1]) for line in SWITCH.splitlines()]
    document = read("\n".join(lines), "H100")
    assert document["gpus"] == columns  # as the header names them
    assert codes(document)["no_column"] == [*range(columns, 8)]
    assert "no_column" in codes(read("\n".join(lines[1:]), "H100"))  # without a header, too
    assert "no_column" not in codes(read(SWITCH, "H100"))


def test_the_gpu_to_state_is_one_that_it_can_be() -> None:
    (document,) = field.read(SWITCH)
    (finding,) = [f for f in document.findings if f.code == "ambiguous"]
    assert 'for example "H100 SXM"' in finding.text
    assert "3090" not in document.in_words()
    assert "--gpu" in finding.advice
    assert "notebook" in finding.advice


def test_the_road_of_the_gpus_that_fit_is_told() -> None:
    road = "pcie_gb_per_s_one_way"
    assert read(matrix(8, everywhere("NV12")))[road] == 32
    assert read(SWITCH, "H100")[road] == 64
    assert read(SWITCH)[road] is None


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
        "".join(f"worker-0  | {line}\n" for line in WHOLE.splitlines()),
        "".join(f"\x1b[36mjob_trainer_1 | \x1b[0m{line}\n" for line in WHOLE.splitlines()),
        "\n".join(" | ".join(line.split("\t")) for line in WHOLE.splitlines()),
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
        WHOLE.replace("NIC", "mlx5_bond_"),
        "| " + WHOLE.replace("\t", " | ").replace("\n", " |\n| ").replace("GPU", "**GPU"),
        "".join(f"| `{line}` |\n" for line in WHOLE.replace("\t", "` | `").splitlines()),
        "".join(f"\u2502 {line} \u2502\n" for line in WHOLE.replace("\t", "\u2502").splitlines()),
        json.dumps({"topo": WHOLE}),
        "C:\\Users\\me>nvidia-smi topo -m\r\n" + WHOLE.replace("\n", "\r\n"),
        "".join(f"job.sh:# {line}\n" for line in WHOLE.splitlines()),
        "".join(f"(pid=12) INFO 05-01 10:00:00 [a.py:1] {line}\n" for line in WHOLE.splitlines()),
        WHOLE.replace("0-31\t0\t\tN/A", "\t0\t\tN/A"),
        *("\n".join(row[i : i + width].rstrip() for row in WHOLE.expandtabs(8).split("\n")
                    for i in range(0, len(row), width)) for width in (50, 60, 75, 80, 90, 100)),
    ],
)  # fmt: skip
def test_the_same_matrix_in_other_clothes(text: str) -> None:
    document, plain = read(text), read(WHOLE)
    for key in ("gpus", "gpu_rows", "nvlinks_per_gpu", "fabric", GB, "generation"):
        assert document[key] == plain[key], key
    assert [len(names) for names in document["nearest_nics"].values()] == [1] * 8


@pytest.mark.parametrize("width", [30, 72, 79, 80, 96, 100, 110])
def test_a_narrow_window_breaks_lines_anywhere(width: int) -> None:
    text = text_of("topo/26-dgx1-v100-nic-columns-out-of-order.txt").expandtabs(8)
    lines = [row[i : i + width] for row in text.split("\n") for i in range(0, len(row), width)]
    assert read("\n".join(lines)) == read(text)


def test_a_torn_row_does_not_go_on_in_the_legend() -> None:
    text = matrix(8, everywhere("NV18"))
    legend = "  NODE = Connection traversing PCIe\n  SYS  = Connection traversing PCIe\n"
    document = read(text[: text.rindex("NV18")] + "\n" + legend)
    assert document["links"][7] == ["NV18"] * 5 + [None] * 3


def test_groups_that_nvlink_does_not_join_need_no_second_hop() -> None:
    assert set(codes(read(matrix(8, groups("NV6", 4)), "H200 NVL"))) == {"islands"}
    assert "two_hops" in codes(read(text_of("topo/26-dgx1-v100-nic-columns-out-of-order.txt")))


def test_one_garbled_label_does_not_make_another_tool() -> None:
    document = read(WHOLE.replace("NODE", "SYS").replace("\tNV12\t", "\tNVB\t", 1))
    assert document["kind"] == "topo"
    assert document["links"][0][1] is None
    assert document["nvlinks_per_gpu"] == [12] * 8


# What people print on machines of many kinds, and the answer that a person gives.
MACHINES = {
    "HGX B200, adapters of the node only": (
        matrix(8, everywhere("NV18")).replace("PIX", "NODE"), "B200",
        {"fabric": "switch", GB: [900] * 8, "nearest_nics": {str(i): [f"NIC{i // 2}"]
                                                            for i in range(8)}}),
    "GH200, four in a node": (
        "        GPU0   GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
        "GPU0     X      NV6     NV6     NV6     0-71           0,5-11          4\n"
        "GPU1    NV6      X      NV6     NV6     72-143         1,13-19         12\n"
        "GPU2    NV6     NV6      X      NV6     144-215        2,21-27         20\n"
        "GPU3    NV6     NV6     NV6      X      216-287        3,29-35         28\n", None,
        {"fabric": "mesh", "nvlinks_per_gpu": [18] * 4, GB: [450] * 4}),
    "GB200 tray with two links off": (
        "GPU0\tX\tNV18\tNV16\tNV18\t0-3\t0\t\tN/A\nGPU1\tNV18\tX\tNV16\tNV18\t0-3\t0\t\tN/A\n"
        "GPU2\tNV16\tNV16\tX\tNV16\t0-3\t0\t\tN/A\nGPU3\tNV18\tNV18\tNV16\tX\t0-3\t0\t\tN/A\n",
        "GB200", {"nvlinks_per_gpu": [18, 18, 16, 18], GB: [900, 900, 800, 900]}),
    "one GPU and its adapters": (
        "\tGPU0\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tNODE\tPHB\t0-19\t0\t\tN/A\nNIC0\tNODE\t X \tPIX\nNIC1\tPHB\tPIX\t X \n", None,
        {"gpus": 1, "gpu_rows": 1, "fabric": "unknown", "nearest_nics": {"0": ["NIC1"]}}),
    "MIG list before it": (
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a)\n"
        "  MIG 3g.20gb     Device  0: (UUID: MIG-b)\n$ nvidia-smi topo -m\n"
        "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X \tSYS\tPXB\t0-63\n"
        "GPU1\tSYS\t X \tSYS\t64-127\nmlx5_0\tPXB\tSYS\t X \t\n", None,
        {"fabric": "none", GB: [0, 0], "nearest_nics": {"0": ["mlx5_0"], "1": ["mlx5_0"]}}),
    "old labels, no NUMA column": (
        matrix(8, groups("PIX", 2, "SOC"), "\t0-9").replace("\tNUMA Affinity\tGPU NUMA ID", ""),
        None, {"fabric": "none", "gpu_rows": 8, GB: [0] * 8}),
    "Polaris, header without tabs": (
        "GPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tmlx5_1 CPU Affinity NUMA Affinity\n"
        "GPU0\t X \tNV4\tNV4\tNV4\tSYS\tSYS\t24-31,56-63\t3\n"
        "GPU1\tNV4\t X \tNV4\tNV4\tSYS\tPHB\t16-23,48-55\t2\n"
        "GPU2\tNV4\tNV4\t X \tNV4\tSYS\tSYS\t8-15,40-47\t1\n"
        "GPU3\tNV4\tNV4\tNV4\t X \tPHB\tSYS\t0-7,32-39\t0\n", None,
        {"fabric": "mesh", GB: [300] * 4, "nearest_nics": {
            "0": ["mlx5_0", "mlx5_1"], "1": ["mlx5_1"], "2": ["mlx5_0", "mlx5_1"],
            "3": ["mlx5_0"]}}),
    "labels run together": (
        "        GPU0    GPU1    NIC0    NIC1    NIC2       NIC3    CPU Affinity\n"
        "GPU0     X      NV18    PIX     NODENODE    SYS     0-47,96-143\n"
        "GPU1    NV18     X      NODE    PIX NODE    SYS     0-47,96-143\n", "H100",
        {"gpu_rows": 2, "nearest_nics": {"0": ["NIC0"], "1": ["NIC1"]}}),
    "two of a node, numbered from two": (
        "\tGPU2\tGPU3\tCPU Affinity\nGPU2\t X \tNV12\t0-15\nGPU3\tNV12\t X \t0-15\n", "A100",
        {"numbers": [2, 3], GB: [300, 300]}),
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_machines_of_many_kinds(machine: str) -> None:
    text, gpu, expected = MACHINES[machine]
    document = read(text, gpu)
    assert {key: document[key] for key in expected} == expected


def test_tasks_of_two_nodes_are_two_matrices() -> None:
    text = "".join(f"{t:2d}: {line}\n" for line in WHOLE.splitlines() for t in (3, 12))
    documents = [document.as_json() for document in field.read(text)]
    assert documents == [read(WHOLE)] * 2


def test_services_of_two_nodes_are_two_matrices() -> None:
    text = "".join(f"worker-{t}  | {line}\n" for line in WHOLE.splitlines() for t in (0, 1))
    assert [document.as_json() for document in field.read(text)] == [read(WHOLE)] * 2


def test_a_bar_between_two_cells_is_no_mark_of_a_service() -> None:
    text = "GPU0 | NV4\nmlx5_0 | X\nNIC0 | PIX"
    assert documents.clean(text) == [line.replace("|", " ") for line in text.split("\n")]


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


def test_a_row_that_was_cut_does_not_tell_the_nearest_nic() -> None:
    # the row of GPU6 ends at its sixth NIC
    document = read(text_of("topo/09-8xB200-one-gpu-off-fabric-no-header.txt"), "B200")
    assert document["nearest_nics"] == {str(i): [f"NIC{i}"] for i in range(6)}
    assert "nic_far" not in codes(document)
