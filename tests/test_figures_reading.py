"""Pictures of printouts: the machine that a matrix shows, a log over its model, who wins where."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from field_cases import CASES, text_of
from hypothesis import given
from hypothesis import strategies as st
from picture_checks import SVG, assert_fits

from nvlearn import field, nccl
from nvlearn.field import Document
from nvlearn.figures import reading, style, winner_map
from nvlearn.figures.reading import drawable
from nvlearn.topology import printed, system

LABELS = ("NV1", "NV4", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", None)


def documents(name: str, gpu: str | None = None) -> list[field.Document]:
    return field.read(text_of(name), gpu)


def find(part: str) -> str:
    return next(name for name in CASES if part in name)


@pytest.mark.parametrize("name", CASES)
def test_every_printout_gets_a_picture_whose_words_fit(name: str) -> None:
    for document in documents(name):
        picture = reading(document)
        words = [w for w in ElementTree.fromstring(picture.svg).iter(f"{SVG}text") if w.text]
        assert words
        for word in words:
            assert_fits(word, picture.width, picture.height)
        assert picture.svg == reading(document).svg


def test_a_mesh_is_the_machine_of_the_catalog() -> None:
    (document,) = documents(find("26-dgx1"))
    made = printed(document.links, 25e9, 16e9)
    assert (made.link_matrix() == system("DGX-1 V100").link_matrix()).all()
    hosts = sorted(name for name, kind in made.graph.nodes(data="kind") if kind == "host")
    assert hosts == ["CPU0", "CPU1"]  # the labels say SYS between the quads
    assert [made.fabric.has_edge(f"GPU{i}", "CPU0") for i in range(8)] == [True] * 4 + [False] * 4


def test_links_through_a_switch_are_not_repeated_and_a_gpu_off_the_fabric_has_none() -> None:
    (document,) = documents(find("09-8xB200"), "B200")
    picture = reading(document)
    nvlinks = [line for line in picture.data["lines"] if line.kind == "nvlink"]
    assert [line.links for line in nvlinks] == [18] * 7
    assert all(line.nominal == pytest.approx(900e9) for line in nvlinks)
    assert "GPU2" not in {line.a for line in nvlinks} | {line.b for line in nvlinks}
    assert "Something is wrong with GPU2" in picture.svg


def test_rows_that_a_paste_has_lost_are_read_from_the_others() -> None:
    (document,) = documents(find("06-dgx-a100"))
    lines = [line for line in reading(document).data["lines"] if line.kind == "nvlink"]
    assert [line.links for line in lines] == [12] * 8


def test_a_rate_that_the_printout_does_not_tell_is_called_assumed() -> None:
    name = find("22-2x3090")
    (unknown,), (stated,) = documents(name), documents(name, "RTX 3090")
    assert "rates assumed" in reading(unknown).description
    assert "rates assumed" not in reading(stated).description
    assert "56.25 GB/s one way" in reading(stated).description


def test_the_title_names_gpus_with_a_warning_about_their_links() -> None:
    name = find("47-2x3090")
    (document,) = documents(name, "RTX 3090")
    assert "Something is odd about the links of GPU0 and GPU1" in reading(document).svg
    (plain,) = documents(find("22-2x3090"), "RTX 3090")
    assert "odd about" not in reading(plain).svg
    many = "\n".join(["\t".join(["", *(f"GPU{i}" for i in range(16))])] + [
        "\t".join([f"GPU{i}", *("X" if i == j else "NV16" for j in range(16))])
        for i in range(16)])
    (tray,) = field.read(many, "B200")
    assert "odd about the links of 16 GPUs" in reading(tray).svg


def test_a_switch_that_does_not_join_all_is_not_said_to() -> None:
    def printed_with(apart: Callable[[int, int], bool]) -> Document:
        rows = [[f"GPU{i}", *("X" if i == j else "SYS" if apart(i, j) else "NV18"
                              for j in range(8))] for i in range(8)]
        header = ["", *(f"GPU{i}" for i in range(8))]
        (document,) = field.read("\n".join(map("\t".join, [header, *rows])), "H100")
        return document

    halves = reading(printed_with(lambda i, j: (i < 4) != (j < 4)))
    assert "joins every GPU" not in halves.svg
    assert "does not join all GPUs" in halves.svg
    pair = reading(printed_with(lambda i, j: {i, j} == {0, 3}))
    assert "GPU0 and GPU3" in pair.svg
    assert "CPU" not in pair.svg  # a bad cell is no proof of a socket


def test_roads_are_those_of_the_gpus_that_fit() -> None:
    (dgx1,) = documents(find("26-dgx1"))
    said = reading(dgx1).description
    assert "8 x PCIe, 16 GB/s one way" in said
    assert "assumed" not in said
    (unknown,) = documents(find("17-power9"))
    assert "rates assumed" in reading(unknown).description


@given(st.integers(1, 9), st.data(), st.booleans())
def test_any_labels_give_a_machine(gpus: int, data: st.DataObject, switch: bool) -> None:
    cells = st.lists(st.sampled_from(LABELS), min_size=gpus, max_size=gpus)
    labels = [data.draw(cells) for _ in range(gpus)]
    made = printed(labels, 25e9, 32e9, switch=switch)
    assert made.ranks == gpus
    with pytest.raises(ValueError, match="at least one GPU"):
        printed([], 25e9, 32e9)


def test_a_log_lies_over_the_model_of_its_machine() -> None:
    (log,) = documents(find("nccl/01-8xA100"))
    picture = reading(log)
    sizes, times = log.size, log.time * 1e-6
    best = nccl.fit(nccl.machine("DGX A100"), sizes, times).machine
    assert f"model of a DGX A100 ({best.offset * 1e6:.3g} µs, {best.efficiency:.0%})" in (
        picture.description)
    assert "232 GB/s one way at 8 GiB" in picture.description


def test_a_log_of_an_unknown_machine_lies_over_a_line() -> None:
    (log,) = documents(find("nccl/08-8xH100"))
    assert reading(log).description.startswith("line (")
    (stated,) = documents(find("nccl/08-8xH100"), "H100")
    assert reading(stated).description.startswith("model of a DGX H100")


def test_a_log_faster_than_its_machine_could_be_is_not_laid_over_its_model() -> None:
    (log,) = documents(find("21-4x4090"))  # a patched driver: not through host memory
    assert reading(log).description.startswith("line (")


def test_what_cannot_be_drawn_is_told() -> None:
    (status,) = documents(find("nvlink-status/06"))
    (alone,) = documents(find("20-1x5090"))
    for document in (status, alone):
        assert not drawable(document)
        assert "There is no picture of this printout" in reading(document).svg
        assert reading(document).description == document.in_words()


def names(rows: list[str]) -> list[list[str]]:
    table = {"r": "ring LL", "t": "tree LL", "n": "nvls Simple", "x": "mine"}
    return [[table[letter] for letter in row] for row in rows]


def test_neighbours_with_the_same_winner_are_one_box() -> None:
    picture = winner_map(names(["rrtt", "rnnn"]), [2, 8], [2.0**k for k in (10, 14, 18, 22)])
    rects = [r.attrib for r in ElementTree.fromstring(picture.layers[1]).iter(f"{SVG}rect")
             if "fill" in r.attrib]  # fmt: skip
    widths = [float(r["width"]) for r in rects]
    assert [round(w / 211) for w in widths] == [2, 2, 1, 3]
    assert len({r["fill"] for r in rects}) == 3
    assert picture.description == "On 8 ranks: ring LL from 1 KiB, nvls Simple from 16 KiB"


def test_a_second_table_is_a_line_where_its_winners_change() -> None:
    sizes = [2.0**k for k in (10, 14, 18, 22)]
    mine, theirs = names(["xxxx", "xxxx"]), names(["rrtt", "rnnn"])
    plain, over = (winner_map(mine, [2, 8], sizes, over=o) for o in (None, theirs))
    paths = [*ElementTree.fromstring(over.layers[1]).iter(f"{SVG}path")]
    assert {path.attrib["stroke"] for path in paths} == {style.INK}
    # Between the second and third, first and second; columns whose rows differ.
    assert [path.attrib["d"].count("L") for path in paths] == [2, 3]
    assert not list(ElementTree.fromstring(plain.layers[1]).iter(f"{SVG}path"))


def test_a_map_without_a_row_for_each_rank_is_refused() -> None:
    with pytest.raises(ValueError, match="a row for each number of ranks"):
        winner_map(np.full((2, 3), "ring LL"), [2, 4], [1.0, 2.0])
