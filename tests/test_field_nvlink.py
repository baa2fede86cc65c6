"""Lists of `nvidia-smi nvlink --status` as people paste them, and kinds like them."""

from __future__ import annotations

from typing import Any

import pytest
from field_cases import codes, failures, runs, text_of

from nvlearn import field

DEAD = "NVML: Unable to retrieve NVLink information as all links are inActive\n"


def gpu(index: int, name: str, links: int, rate: str) -> str:
    lines = [f"GPU {index}: {name} (UUID: GPU-5269b708-{index})"]
    return "\n".join(lines + [f"\t Link {i}: {rate}" for i in range(links)]) + "\n"


def read(text: str) -> dict[str, Any]:
    (document,) = field.read(text)
    assert document.in_words()
    return document.as_json()


@pytest.mark.parametrize(("name", "stated", "checks"), runs("nvlink-status"))
def test_printouts(name: str, stated: str | None, checks: list[dict[str, Any]]) -> None:
    assert failures(text_of(name), stated, checks) == []


@pytest.mark.parametrize(
    ("name", "links", "printed", "raw", "nominal"),
    [
        ("Tesla P100-SXM2-16GB", 4, "19.531 GB/s", 78.124, 80),
        ("NVIDIA GeForce RTX 2080 Ti", 2, "25.781 GB/s", 51.562, 50),
        ("NVIDIA RTX A5000", 4, "14.062 GB/s", 56.248, 56.25),
        ("NVIDIA A30", 4, "25 GB/s", 100, 100),
        ("NVIDIA A800-SXM4-80GB", 8, "25 GB/s", 200, 200),
        ("NVIDIA H100 80GB HBM3", 18, "26.562 GB/s", 478.116, 450),
        ("NVIDIA H20", 18, "26.562 GB/s", 478.116, 450),
        ("NVIDIA B300 SXM6 AC", 18, "53.125 GB/s", 956.25, 900),
        ("NVIDIA B200", 18, "50 GB/s", 900, 900),
    ],
)
def test_nominal_and_raw(name: str, links: int, printed: str, raw: float, nominal: float) -> None:
    document = read("".join(gpu(i, name, links, printed) for i in range(4)))
    assert document["findings"] == []
    for index, status in enumerate(document["gpus"]):
        assert status == {
            "index": index, "name": name, "up": links, "down": 0, "complete": True,
            "gb_per_s_raw": pytest.approx(raw), "gb_per_s_one_way": pytest.approx(nominal),
        }  # fmt: skip


def test_a_board_without_links_is_a_fault_and_a_card_without_bridge_is_not() -> None:
    h100, card = "NVIDIA H100 80GB HBM3", "NVIDIA A100-PCIE-40GB"
    document = read(gpu(0, h100, 0, "") + DEAD + gpu(1, h100, 18, "26.562 GB/s"))
    assert codes(document) == {"all_down": [0]}
    assert document["findings"][0]["severity"] == "fault"
    assert document["gpus"][0]["gb_per_s_one_way"] == 0
    document = read("".join(gpu(i, card, 0, "") + DEAD for i in range(2)))
    assert codes(document) == {"no_links": [0, 1]}
    (told,) = field.read(gpu(0, card, 0, "") + DEAD)
    assert "no link is up" in told.in_words()
    assert "0 B/s" not in told.in_words()
    alone = gpu(0, "NVIDIA GH200 480GB", 0, "") + DEAD.replace("NVLink", "Nvlink")
    assert codes(read(alone)) == {"no_links": [0]}
    inactive = "".join(gpu(i, h100, 18, "<inactive>") for i in range(2))
    assert codes(read(inactive)) == {"all_down": [0, 1]}


NONE = "Device does not have or support Nvlink."


@pytest.mark.parametrize("text", [
    "".join(f"GPU {i}: NVIDIA GeForce RTX 5090 (UUID: GPU-{i})\n{NONE}\n" for i in range(2)),
    f"GPU 0: NVIDIA RTX A4000 (UUID: GPU-a) {NONE}\nGPU 1: NVIDIA L40S (UUID: GPU-b) {NONE}\n",
    f"GPU 0: NVIDIA L4\n{NONE}\nGPU 1: NVIDIA L4\n{NONE}\n",
])  # fmt: skip
def test_cards_that_cannot_have_links_are_in_order(text: str) -> None:
    document = read(text)
    assert [(g["up"], g["down"], g["complete"]) for g in document["gpus"]] == [(0, 0, True)] * 2
    assert codes(document) == {"no_links": [0, 1]}


def test_links_asleep_are_not_up() -> None:
    document = read("".join(gpu(i, "NVIDIA GB300", 18, "Sleep") for i in range(4)))
    assert [(g["up"], g["down"]) for g in document["gpus"]] == [(0, 18)] * 4
    assert codes(document) == {"all_down": [0, 1, 2, 3]}


def test_every_list_of_a_long_paste_is_read() -> None:
    one = "".join(gpu(i, "NVIDIA A30", 4, "25 GB/s") for i in range(2))
    assert len(field.read(one * 100)) == 100


def test_links_that_are_not_listed_are_not_called_up() -> None:
    name = "NVIDIA H100 80GB HBM3"
    document = read(gpu(0, name, 16, "26.562 GB/s") + gpu(1, name, 18, "26.562 GB/s"))
    assert codes(document) == {"list_gaps": [0]}
    assert document["gpus"][0]["complete"] is False
    assert document["gpus"][0]["gb_per_s_one_way"] is None


def test_cut_at_any_byte() -> None:
    whole = "".join(gpu(i, "Tesla V100-SXM2-16GB", 6, "25.781 GB/s") for i in range(2))
    for end in range(whole.index("Link 1"), len(whole) - 5):
        last = read(whole[:end])["gpus"][-1]
        assert not last["complete"] or last["up"] == 6


@pytest.mark.parametrize(
    "text",
    [
        "GPU 0: NVIDIA A100 (UUID: x)\n\t Link 0, P2P is supported: true\n",
        "GPU 0: NVIDIA A100 (UUID: x)\n\t Link 0: Replay Errors: 0\n",
        "GPU 0: NVIDIA A100 (UUID: x)\n\t Link 0: Remote Device 00000000:0B:00.0: Link 1\n",
    ],
)
def test_other_options_are_named(text: str) -> None:
    assert read(text)["kind"] == "unsupported"


H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"


@pytest.mark.parametrize(
    ("name", "links", "rate"),
    [("NVIDIA B200", 18, "26.562"), (H100, 18, "20"), (A100, 12, "53.125"), (H100, 18, "14.062"),
     ("NVIDIA GeForce RTX 3090", 4, "25"), ("NVIDIA GeForce RTX 4090", 4, "25"),
     ("Tesla P100-SXM2-16GB", 4, "25.781")],
)  # fmt: skip
def test_a_rate_that_the_gpu_named_does_not_have_is_a_warning(
    name: str, links: int, rate: str
) -> None:
    document = read("".join(gpu(i, name, links, f"{rate} GB/s") for i in range(2)))
    (finding,) = document["findings"]
    assert (finding["code"], finding["severity"]) == ("odd_rate", "warning")
    assert finding["gpus"] == [0, 1]
    assert f"({rate} GB/s)" in finding["text"]
    assert finding["text"].endswith(", ".join(map(str, range(links))) + ".")
    assert {told["gb_per_s_one_way"] for told in document["gpus"]} == {None}
    assert {told["complete"] for told in document["gpus"]} == {True}


def test_one_link_of_half_the_rate_is_named() -> None:
    whole = "".join(gpu(i, H100, 18, "26.562 GB/s") for i in range(2))
    (document,) = field.read(whole.replace("Link 4: 26.562", "Link 4: 13.281", 1))
    (finding,) = document.findings
    assert (finding.code, finding.gpus) == ("odd_rate", [0])
    assert finding.text.endswith("(13.281 GB/s) that links of H100 SXM do not have: 4.")
    assert "GPU0 NVIDIA H100 80GB HBM3: links up: 18, inactive: 0; 464.835" in document.in_words()
    assert "as far as the list goes" not in document.in_words()


@pytest.mark.parametrize(
    ("name", "links", "rate", "stated"),
    [
        ("NVIDIA H100 80GB HBM3", 18, "25", "H100"), ("NVIDIA B200", 18, "50", "B200"),
        ("NVIDIA H800", 8, "26.562", "H800"), ("NVIDIA A800-SXM4-80GB", 8, "25", "A100"),
        ("Tesla P100-SXM2-16GB", 4, "19", None), ("NVIDIA A100-SXM4-80GB", 12, "25", "A100"),
        ("NVIDIA A100-PCIE-40GB", 12, "25", None), ("NVIDIA H100 PCIe", 12, "26.562", "H100"),
        ("NVIDIA RTX A6000", 4, "14.062", "RTX 3090"), ("NVIDIA X999", 4, "77", None),
        ("NVIDIA X999", 18, "26.562", "H100"),
    ],
)  # fmt: skip
def test_rates_that_are_in_order(name: str, links: int, rate: str, stated: str | None) -> None:
    text = "".join(gpu(i, name, links, f"{rate} GB/s") for i in range(2))
    (document,) = field.read(text, stated)
    assert list(document.findings) == []


def test_a_stated_gpu_that_the_list_contradicts_is_a_warning() -> None:
    text = "".join(gpu(i, H100, 18, "26.562 GB/s") for i in range(2))
    (document,) = field.read(text, "A100")
    (finding,) = document.findings
    assert (finding.code, finding.severity) == ("other_name", "warning")
    assert H100 in finding.text
    assert document.as_json()["gpus"] == read(text)["gpus"]
    mixed = text + gpu(2, "NVIDIA GeForce RTX 3090", 4, "14.062 GB/s")
    assert list(field.read(mixed, "RTX 3090")[0].findings) == []


def test_a_name_that_says_nothing_takes_the_stated_gpu() -> None:
    card = gpu(1, "NVIDIA T400", 0, "") + DEAD  # beside it, for a display
    text = gpu(0, "NVIDIA Graphics Device", 18, "53.125 GB/s") + card
    assert codes(field.read(text, "B200")[0].as_json()) == {"no_links": [1]}
    assert codes(field.read(text, "H100")[0].as_json()) == {"no_links": [1], "odd_rate": [0]}


def test_decimal_commas_are_read() -> None:
    text = "".join(gpu(i, H100, 18, "26.562 GB/s") for i in range(2))
    assert read(text.replace("26.562", "26,562")) == read(text)


def test_html_prefixes_and_two_machines() -> None:
    one = gpu(0, "NVIDIA A30", 4, "25 GB/s").replace("3: 25 GB/s", "3: &lt;inactive&gt;")
    documents = field.read("".join(f"{t}: {line}\n" for line in one.splitlines() for t in (0, 1)))
    assert [d.as_json()["gpus"][0]["up"] for d in documents] == [3, 3]
    assert [f.code for d in documents for f in d.findings] == ["links_down"] * 2
