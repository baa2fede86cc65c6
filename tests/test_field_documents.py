"""Any paste gives an answer or one clear sentence."""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from field_cases import CASES, text_of
from hypothesis import given, settings
from hypothesis import strategies as st

import nvlearn
from nvlearn import field
from nvlearn.field import documents
from nvlearn.i18n import words

NAMES = [name for name in CASES if not name.startswith("nccl/")]
ALPHABET = "GPUNICX0123456789 \t\n#:.,-/<>()[]|NVSYODEHBPIXlinkGBs\x1b\r\ufeff\x00√é"


def answer(source: str, gpu: str | None = None) -> list[str]:
    """Read a text; whatever it is, nothing but one sentence may be raised."""
    said, found = "", []
    try:
        found = field.read(source, gpu)
    except field.ReadError as error:
        said = str(error)
    assert bool(found) is not bool(said)
    assert len(said) < 400
    assert "\n" not in said
    json.dumps([d.as_json() for d in found], allow_nan=False)
    assert all(d.in_words().strip() for d in found)
    return [d.as_json()["kind"] for d in found]


@settings(max_examples=150)
@given(st.text(max_size=400) | st.text(ALPHABET, max_size=400))
def test_any_text(text: str) -> None:
    answer(text)


LINES = ["GPU0 X NV4 NODE PIX 0-3 0 N/A", "\tGPU0\tGPU1\tNIC0\tCPU Affinity", "GPU1\tNV4\t X \tSYS",
         "NIC0 PIX SYS X", "GPU2 NODE SYS X", "GPU 0: A100 (UUID: x)", "Link 0: 25 GB/s",
         "Link 1: <inactive>", "GPU 1: H100", "X", "NIC0: mlx5_0", "GPU0GPU1", "0: GPU0 X NV1",
         "mlx5_0 X", "GPU9999 X", "GPU3 OK NS X", "GPU0 0 52 52", "GPU1 ERR! N/A X"]  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from([None, "H100", "RTX 3090"]))
def test_any_mix_of_lines(lines: list[str], gpu: str | None) -> None:
    answer("\n".join(lines), gpu)


def mutate(text: str, chance: random.Random) -> str:
    """Damage a printout as pastes are damaged."""
    lines = text.splitlines()
    match chance.randrange(8):
        case 0:
            return text[: chance.randrange(len(text))]
        case 1:
            return text[chance.randrange(len(text)) :]
        case 2:
            chance.shuffle(lines)
        case 3:
            drop = chance.randrange(12)
            lines = ["\t".join(w for i, w in enumerate(x.split()) if i != drop) for x in lines]
        case 4:
            return text.expandtabs(chance.choice([1, 2, 8]))
        case 5:
            lines = [line for line in lines if chance.random() < 0.8]
        case 6:
            width = chance.randrange(20, 120)
            lines = [x[i : i + width] for x in lines for i in range(0, len(x), width)]
        case 7:
            at = [chance.randrange(len(text)) for _ in range(9)]
            return "".join(chance.choice(ALPHABET) if i in at else c for i, c in enumerate(text))
    return "\n".join(lines)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_printouts(name: str) -> None:
    chance, text = random.Random(name), text_of(name)
    for _ in range(25):
        answer(mutate(text, chance), chance.choice([None, "A100", "RTX 3090", "RTX 4090"]))


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("topo/") and "-AMD-" not in n])
def test_a_cut_paste_never_shows_other_links(name: str) -> None:
    (whole,) = [d.as_json() for d in field.read(text_of(name))]
    text = text_of(name)
    for end in range(text.index("GPU1") + 60, len(text), 37):
        try:
            (cut,) = [d.as_json() for d in field.read(text[:end])]
        except field.ReadError:
            continue
        for told, row in zip(cut["links"], whole["links"], strict=False):
            for got, want in zip(told, row, strict=False):
                assert got in (None, want), end


def test_several_printouts_stay_in_order() -> None:
    names = ["nvlink-status/03-2x3090-bridge-tab-indent.txt", "topo/22-2x3090-nvlink-nv4.txt",
             "topo/16-4xA100-sxm-hgx4-nv4.txt", "nvlink-status/06-8xA100-full.txt"]  # fmt: skip
    text = "\n".join(text_of(name) for name in names)
    assert answer(text) == ["nvlink-status", "topo", "topo", "nvlink-status"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     1\n", "p2p matrix"),
        (" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n\n  CNS = Chipset not supported\n", "p2p"),
        ("$ mx-smi topo -m\n  GPU0 GPU1 Node Affinity  CPU Affinity\nGPU0 X MX 0 0-15\n"
         "GPU1 MX X 0 0-15\n", "MetaX"),
        ("  GPU0 GPU1 CPU Affinity\nGPU0 X ZZL 0-15\nGPU1 ZZL X 0-15\n", "another tool"),
        ("nvbandwidth Version: v0.4\nmemcpy CE GPU(row) <- GPU(column) bandwidth", "nvbandwidth"),
    ],
)  # fmt: skip
def test_look_alikes_are_named(text: str, what: str) -> None:
    (document,) = field.read(text)
    assert isinstance(document, field.Unsupported)
    assert what in document.what
    assert document.what in document.in_words()


@pytest.mark.parametrize("text", ["", "\n\n", "hello", "GPU0 is the X of all", "X = Self", "\x00"])
def test_nothing_to_read_is_said(text: str) -> None:
    with pytest.raises(field.ReadError, match="nvidia-smi topo -m"):
        field.read(text)


def test_lines_of_a_file_are_read_one_by_one_and_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_LINES", 50)
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        yield from text_of("topo/22-2x3090-nvlink-nv4.txt").splitlines(keepends=True)
        while True:
            taken += 1
            yield "x" * 10_000 + "\n"

    (document,) = field.read(endless())
    assert document.as_json()["gpus"] == 2
    assert taken < 60


def test_the_characters_kept_are_bounded_however_the_lines_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(documents, "MOST", 10_000)
    text = text_of("topo/22-2x3090-nvlink-nv4.txt") + "GPU0 " * 100_000
    for source in (text, text.splitlines(keepends=True)):
        assert sum(map(len, documents.beginning(source))) <= 10_000 + documents.WIDEST
        assert len(field.read(source)) == 1
    with pytest.raises(field.ReadError, match="no more is read"):
        field.read("x\n" * 20_000)


@pytest.mark.parametrize("gpu", [None, "RTX 3090", "RTX 2080 Ti", "H100"])
def test_one_of_a_thing_is_not_called_many(gpu: str | None) -> None:
    head = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\n"
    texts = [
        "GPU 0: Tesla V100 (UUID: a)\n Link 0: 25.781 GB/s\n Link 1: <inactive>\n",
        "GPU 0: Tesla V100 (UUID: a)\n Link 0: 25.781 GB/s\n",
        "\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \tPIX\t0-3\n",
        "GPU0\tX\t0-3\t0\t\tN/A\n",
        f"{head}GPU0\t X \tNV1\tPIX\t0-3\nGPU1\tNV1\t X \tSYS\t0-3\n",
        f"{head}GPU0\t X \tNV1\tPIX\t0-3\n",
        "size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        " 8 2 float sum -1 9.0 1.00 1.00 1 9.0 1.00 1.00 0\n",
    ]
    for text in texts:
        for document in field.read(text, gpu):
            assert not re.search(r"\b1 (?!GB|kB|B\b)[A-Za-z]+s\b", document.in_words())


def test_every_code_has_severity_advice_and_words() -> None:
    data = Path(nvlearn.__file__).parent / "data"
    texts = tomllib.loads((data / "words.en.toml").read_text(encoding="utf-8"))
    for code, row in field.codes().items():
        assert row["severity"] in ("info", "warning", "fault"), code
        assert row["advice"].endswith("."), code
        assert any(code in section for section in texts.values()), code
    assert words("field.each")


MATRIX = "\tGPU0\tGPU1\nGPU0\tX\tNV4\nGPU1\tNV4\tX"


def test_a_list_of_names_beside_a_matrix_says_which_gpu_it_is() -> None:
    names = "".join(f"GPU {n}: NVIDIA GeForce RTX 3090 (UUID: x)\n" for n in range(2))
    assert field.read(names + MATRIX)[0].gb_per_s_one_way == [56.25, 56.25]
    assert field.read(MATRIX)[0].gb_per_s_one_way == [None, None]
    mixed = names.replace("RTX 3090", "RTX 4090", 1)
    assert field.read(mixed + MATRIX)[0].gb_per_s_one_way == [None, None]
    more = names + "GPU 2: NVIDIA GeForce RTX 3090 (UUID: x)\n"  # of another machine
    assert field.read(more + MATRIX)[0].gb_per_s_one_way == [None, None]


def test_a_text_in_one_long_line_is_split_before_it_is_cut() -> None:
    text = "\n".join([MATRIX, *(f"host INFO nothing of interest {n}" for n in range(500)), MATRIX])
    assert len(field.read(text)) == 2
    assert len(field.read(text.replace("\n", "\\n").replace("\t", "\\t"))) == 2
    assert len(field.read(text.replace("\n", "\r"))) == 2
