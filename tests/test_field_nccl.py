"""Logs of nccl-tests: the real ones with their right answers, others like them, and any bytes."""

from __future__ import annotations

import json
import math
import re
from random import Random
from typing import Any

import field_cases
import pytest
from field_cases import text_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nvlearn import field
from nvlearn.field.findings import SEVERITIES, codes
from nvlearn.field.nccl_tests import Log, fit_line
from nvlearn.i18n import words

CASES = {name: case for name, case in field_cases.CASES.items() if name.startswith("nccl/")}
TEXTS = {name[5:7]: text_of(name) for name in CASES}
HEAD = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"


def read(text: str, gpu: str | None = None) -> list[Log]:
    try:
        return [document for document in field.read(text, gpu) if isinstance(document, Log)]
    except field.ReadError:
        return []


def parse(text: str, gpu: str | None = None) -> list[dict[str, Any]]:
    documents = read(text, gpu)
    for document in documents:
        assert document.in_words()
    result = [document.as_json() for document in documents]
    json.dumps(result, allow_nan=False)
    return result


def one(text: str, gpu: str | None = None) -> dict[str, Any]:
    (document,) = parse(text, gpu)
    return document


def found(document: dict[str, Any]) -> dict[str, str]:
    return {finding["code"]: finding["text"] for finding in document["findings"]}


# --- the real ones ------------------------------------------------------------------------------


def look_up(data: Any, path: str) -> Any:
    for index, star, name in re.findall(r"\[(\d+)\]|(\[\*\])|([^.\[\]]+)", path):
        if star:
            rest = path.partition("[*].")[2]
            return [look_up(item, rest) for item in data]
        if data is None:
            return None
        data = data[int(index)] if index else data[name]
    return data


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def holds(check: dict[str, Any], documents: list[dict[str, Any]]) -> bool:
    if "any_of" in check:
        return any(all(holds(c, documents) for c in group) for group in check["any_of"])
    worst = max((SEVERITIES.index(f["severity"]) for d in documents for f in d["findings"]),
                default=-1)  # fmt: skip
    if "severity_at_least" in check:
        return worst >= SEVERITIES.index(check["severity_at_least"])
    if "no_severity" in check:
        return worst < SEVERITIES.index(check["no_severity"])
    if "path" not in check:
        return "exit" in check
    got, rel = look_up({"documents": documents}, check["path"]), check.get("rel", 1e-3)
    tests = {
        "eq": lambda want: got == want, "name": lambda want: plain(got) == plain(want),
        "in": lambda want: any(got == w or near(got, w, rel) for w in want),
        "approx": lambda want: near(got, want, rel), "count": lambda want: got in want,
        "between": lambda want: want[0] <= got <= want[1], "gt": lambda want: got > want,
        "each": lambda want: all(item == want for item in got),
    }  # fmt: skip
    (test,) = [name for name in tests if name in check]
    return (got is None and bool(check.get("or_null"))) or bool(tests[test](check[test]))


def near(got: Any, want: Any, rel: float) -> bool:
    return None not in (got, want) and math.isclose(got, want, rel_tol=rel)


@pytest.mark.parametrize("name", CASES)
def test_a_real_log_is_read_right(name: str) -> None:
    documents = parse(text_of(name))
    assert [check for check in CASES[name]["checks"] if not holds(check, documents)] == []


# --- others like them ---------------------------------------------------------------------------


def made(times: dict[int, float], ranks: int = 8, passes: int = 2, redop: str = "sum",
         root: int = -1, wrong: str = "0", share: int = 1) -> str:  # fmt: skip
    """Write a table with given times in us of given sizes."""
    factor = passes * (ranks - 1) / ranks if passes else 1
    rows = ""
    for size, time in times.items():
        half = f"{time:9.2f} {size / time / 1e3:8.2f} {size / time / 1e3 * factor:8.2f}"
        what = f"{size:12d} {size // 4 // share:12d} float {redop:>6} {root:4d}"
        rows += f"{what} {half} 0 {half} {wrong}\n"
    return HEAD + rows


def line(rate: float, start: float = 40, factor: float = 1.75, first: int = 10, last: int = 35
         ) -> dict[int, float]:  # fmt: skip
    """Give times on a line: start-up in us, rate in GB/s."""
    return {2**k: start + 2**k * factor / rate / 1e3 for k in range(first, last)}


def ranks_of(gpu: str, count: int = 8, hosts: int = 1) -> str:
    each = count // hosts
    return "".join(f"#  Rank {i:2d} Group  0 Pid {i} on host{i // each} device {i % each} "
                   f"[0x0{i % each}] {gpu}\n" for i in range(count))  # fmt: skip


H100 = ranks_of("NVIDIA H100 80GB HBM3")


@pytest.mark.parametrize(
    ("name", "passes", "redop", "root", "wrong", "share"),
    [
        ("all_reduce", 2, "sum", -1, "0", 1),
        ("reduce_scatter", 1, "sum", -1, "0", 8),
        ("all_gather", 1, "none", -1, "0", 8),
        ("alltoall", 1, "none", -1, "N/A", 8),
        ("sendrecv", 0, "sum", -1, "N/A", 1),
        ("broadcast", 0, "none", 0, "0", 1),
        ("reduce", 0, "sum", 3, "0", 1),
    ],
)
def test_a_table_without_a_name_tells_its_collective(
    name: str, passes: int, redop: str, root: int, wrong: str, share: int
) -> None:
    document = one(made(line(200), 8, passes, redop, root, wrong, share))
    assert document["collective"] == name
    assert document["ranks"] == (8 if passes else None)
    assert document["rows"] == 25


@pytest.mark.parametrize("name", ["gather", "scatter", "hypercube", "alltoallv"])
def test_a_name_that_the_rows_cannot_tell_comes_from_the_command(name: str) -> None:
    document = one(f"$ ./build/{name}_perf -g 8\n" + made(line(200), 8, 1, "none", 0))
    assert document["collective"] == name
    assert document["factor"] == pytest.approx(0.875, rel=1e-3)


def test_a_wrong_name_yields_to_the_rows() -> None:
    text = "for t in all_gather_perf; do mpirun -np 8 $t; done\n" + H100
    assert one(text + made(line(200)))["collective"] == "all_reduce"


def test_ranks_come_from_the_factor_when_lines_are_cut() -> None:
    text = "\n".join(H100.splitlines()[:3]) + "\n" + made(line(200))
    assert one(text)["ranks"] == 8
    info = "x NCCL INFO comm 0x1 rank 3 nranks 512 cudaDev 3\n"
    assert one(info + made(line(9, factor=1.996), 512))["ranks"] == 512
    command = "mpirun -np 32 --bind-to none ./all_reduce_perf -b 8 -e 8G -g 1\n"
    assert one(command + made(line(0.5), 32))["ranks"] == 32


WRAPS = {
    "srun": lambda s: re.sub("(?m)^", " 3: ", s),
    "kubernetes": lambda s: re.sub("(?m)^", "2024-05-01T10:00:00.123Z stdout F ", s),
    "quote": lambda s: re.sub("(?m)^", "> ", s),
    "comment": lambda s: re.sub("(?m)^", "#", s),
    "indent": lambda s: re.sub("(?m)^", "\t  ", s),
    "colours": lambda s: re.sub("(?m)^(.*)$", "\x1b[0;32m\\1\x1b[0m", s),
    "mpirun": lambda s: re.sub("(?m)^", "[1,0]<stdout>:", s),
    "prte": lambda s: re.sub("(?m)^", "[prterun-a-1@1,12]<stdout>:", s),
    "markdown": lambda s: "\n".join(" | ".join(["", *x.split(), ""]) for x in s.splitlines()),
    "csv": lambda s: "\n".join(", ".join(x.split()) for x in s.splitlines()),
    "csv without blanks": lambda s: "\n".join(",".join(x.split()) for x in s.splitlines()),
    "docker compose": lambda s: re.sub("(?m)^", "worker-0  | ", s),
    "decimal commas": lambda s: re.sub(r"(\d)\.(\d)", r"\1,\2", s),
    "spreadsheet": lambda s: "\n".join(
        ";".join(x.split()) for x in re.sub(r"(\d)\.(\d)", r"\1,\2", s).splitlines()),
    "thousands": lambda s: re.sub(
        r"(?<= )\d{4,}(?:\.\d+)?(?= )", lambda n: f"{float(n[0]):,.12g}", s),
    "tabs": lambda s: re.sub("  +", "\t", s),
    "narrow": lambda s: re.sub("  +", " ", s),
    "windows": lambda s: s.replace("\n", "\r\n"),
    "info between": lambda s: s.replace("\n", "\nh:1:2 [3] NCCL INFO Channel 00/0 : 0[1] -> 2\n"),
    "info inside": lambda s: re.sub(r"(?m)^(\s*\d+\s+\d+ float.*? -1)(.*)$",
                                    r"\1h:1:2 [0] NCCL INFO Trees [0] 1/-1/-1\n\2", s),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPS)
def test_what_launchers_and_pages_add_does_not_matter(name: str) -> None:
    text = H100 + made(line(367))
    keys = ("collective", "ranks", "rows", "peak_busbw", "peak_bytes", "wrong", "fit")
    want, got = one(text), one(WRAPS[name](text))
    assert [got[key] for key in keys] == [want[key] for key in keys]


@pytest.mark.parametrize("width", [80, 90, 100, 104, 108])
def test_a_narrow_window_breaks_rows_even_inside_a_number(width: int) -> None:
    text = H100 + made(line(367))
    keys = ("collective", "ranks", "nodes", "rows", "peak_busbw", "wrong", "fit")
    broken = "\n".join(x[i : i + width] for x in text.split("\n") for i in range(0, len(x), width))
    assert [one(broken)[key] for key in keys] == [one(text)[key] for key in keys]


def test_a_header_broken_inside_wrong_still_names_its_columns() -> None:
    text = made(line(200)).replace("#wrong  time", "#wr\nong  time", 1)
    assert one(text)["wrong"] == 0
    assert one(made(line(200)).replace("#wrong  time", "#\nwrong  time", 1))["rows"] == 25


def test_columns_apart_by_tabs_alone() -> None:
    text = H100 + made(line(367)) + "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 187.5\n"
    document = one("\n".join("\t".join(row.split()) for row in text.splitlines()))
    assert (document["ranks"], document["nodes"], document["gpu"]) == (8, 1, "H100 SXM")
    assert document["avg_busbw_reported"] == 187.5


def test_a_type_for_each_restart_of_the_sizes() -> None:
    types = {"int8": 1, "uint8": 1, "int32": 4, "uint64": 8, "half": 2, "double": 8, "bfloat16": 2}
    table = made(line(200, last=14)).partition("\n")[2]
    text = H100 + HEAD + "".join(table.replace("float", name) for name in types)
    assert [(d["dtype"], d["rows"], d["ranks"]) for d in parse(text)] == [
        (name, 4, 8) for name in types
    ]


def test_output_of_other_tasks_between_the_rows_does_not_matter() -> None:
    text = H100 + made(line(367))
    noise = " 3: node0:55:66 [3] NCCL INFO Channel 01/0 : 3[3] -> 4[4] via P2P/IPC\n"
    mixed = "".join(f"12: {row}\n{noise}" for row in text.splitlines())
    assert one(mixed)["fit"] == one(text)["fit"]


def test_the_first_versions_printed_milliseconds() -> None:
    rows = made(line(10, factor=1, first=16), ranks=2)
    old = re.sub(r"(?m)(-1 +)(\S+)", lambda m: f"{m[1]}{float(m[2]) / 1e3:.4f}", rows)
    assert one(old)["fit"]["bandwidth_gb_per_s"] == pytest.approx(10, rel=0.01)


def test_newest_columns_are_found_by_the_header() -> None:
    extra = "#bitdiff i_min i_max i_p99 i_cv%"
    head = HEAD.replace("#wrong", f"#wrong {extra}").rstrip() + " timestamp\n"
    half = "74.78 14.02 24.54 0 3 70.1 80.2 79.9 1.20"
    document = one(head + f"1048576 262144 float sum -1 {half} {half} 2025-01-01 10:00:00\n" * 2)
    assert (document["rows"], document["peak_busbw"], document["wrong"]) == (2, 24.54, 0)


def test_a_table_without_types_is_read_by_its_header() -> None:
    text = "# size time algbw busbw\n# (B) (us) (GB/s) (GB/s)\n17179869184 387603 44.32 22.16\n"
    document = one(text + "34359738368 775206 44.32 22.16\n# Avg bus bandwidth : 22.16\n")
    assert (document["rows"], document["ranks"], document["dtype"]) == (2, 2, None)


def test_each_type_and_operator_is_a_document_under_one_average() -> None:
    table = made(line(200)).partition("\n")[2]
    text = H100 + HEAD + table + table.replace("float", "half") + table.replace("sum", "max")
    documents = parse(text + table.replace("sum", "max") + "# Avg bus bandwidth : 1.5\n")
    assert [(d["dtype"], d["redop"], d["rows"]) for d in documents] == [
        ("float", "sum", 25), ("half", "sum", 25), ("float", "max", 25), ("float", "max", 25),
    ]  # fmt: skip
    assert all({"log_average", "log_shared_average"} <= set(found(d)) for d in documents)


def test_a_lookalike_is_named() -> None:
    text = "rccl-tests: Version develop:1\n" + ranks_of("AMD Instinct MI300X") + made(line(300))
    document = one(text)
    assert document["tool"] == "rccl-tests"
    assert "MI300X" in found(document)["log_foreign"]


def test_prose_is_no_log() -> None:
    text = "Run all_reduce_perf: busbw = algbw * 2(n-1)/n, e.g. size 8 2 float.\nint 3 float 4"
    assert parse(text) == []
    assert parse("") == []


# --- findings -----------------------------------------------------------------------------------


def codes_of(text: str, gpu: str | None = None) -> set[str]:
    return set(found(one(text, gpu)))


def test_every_code_has_words_and_advice() -> None:
    mine = {code for code in codes() if code.startswith("log_")}
    assert len(mine) > 20
    for code in mine:
        assert codes()[code]["severity"] in SEVERITIES
        assert codes()[code]["advice"].endswith(".")
        with pytest.raises(LookupError, match="needs a value") if "{" in raw(code) else no_error():
            words(f"nccl_log.{code}")


def raw(code: str) -> str:
    from nvlearn.data import read_table

    return str(read_table("words.en")["nccl_log"][code])


def no_error() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def test_a_healthy_log_raises_nothing() -> None:
    assert codes_of(H100 + made(line(440, last=33)), "H100 SXM") == set()


def test_speed_of_pcie_on_a_machine_with_nvlink() -> None:
    slow = made(line(24, last=33))
    assert "log_pcie_speed" in codes_of(H100 + slow)
    assert "log_pcie_speed" in codes_of(slow, "A100 SXM 40GB")
    assert "log_pcie_speed_bridge" in codes_of(made(line(15, last=33)), "RTX 3090")
    assert codes_of(slow) == codes_of(ranks_of("NVIDIA GeForce RTX 4090") + slow) == set()


def test_missing_nvls_and_nvls_above_line_rate() -> None:
    assert "log_no_nvls" in codes_of(H100 + made(line(367, last=33)))
    assert "log_no_nvls" not in codes_of(H100 + made(line(230, last=33)), "A100 SXM 40GB")
    text = found(one(TEXTS["08"], "H100 SXM"))["log_above_line"]
    assert "450 GB/s one way" in text
    assert "310.5 GB/s one way" in text  # 276.03 x 9/8
    assert "log_above_all" in codes_of(TEXTS["08"], "A100 SXM 40GB")


def test_corrupt_data_is_a_fault_whatever_the_speed() -> None:
    text = H100 + made(line(440, last=33))
    bad = one(text.replace(" 0\n", " 7\n", 1))
    assert bad["wrong"] == 7
    assert [f["severity"] for f in bad["findings"] if f["code"] == "log_wrong"] == ["fault"]
    assert one(made(line(440)).replace(" 0 ", " 1.04858e+06 ", 1))["wrong"] == 1048580


@pytest.mark.parametrize(("error", "footer", "wrong"), [
    ("2e-07", "", 0), ("2e-07", "0 OK", 0), ("3e-03", "", 50), ("3e-03", "0 OK", 0),
    ("0e+00", "0 OK", 0), ("N/A", "0 OK", None), ("N/A", "9 FAILED", 9),
])  # fmt: skip
def test_the_old_error_is_no_count(error: str, footer: str, wrong: int | None) -> None:
    text = re.sub(r" 0(?= |\n)", f" {error}", made(line(200))).replace("#wrong", "error")
    document = one(text + (f"# Out of bounds values : {footer}\n" if footer else ""))
    assert document["wrong"] == wrong
    assert ("log_unchecked" in found(document)) == (wrong is None)


@pytest.mark.parametrize("wrong", ["0", "N/A"])
def test_decimal_commas_raise_no_fault(wrong: str) -> None:
    text = H100 + made(line(440, last=33), wrong=wrong) + "# Avg bus bandwidth : 187.52\n"
    document = one(re.sub(r"(\d)\.(\d)", r"\1,\2", text))
    assert document == one(text)
    assert "fault" not in {f["severity"] for f in document["findings"]}


def test_rows_without_a_bandwidth_say_that_it_is_unknown() -> None:
    (document,) = read("8 2 float sum -1 20.0 0.00 0.00 0 20 0.00 0.00 0\n"
                       "16 4 float sum -1 20.0 0.00 0.00 0 20 0.00 0.00 0\n")  # fmt: skip
    said = document.in_words()
    assert "largest bus bandwidth and its factor are unknown" in said
    assert "size / time x" not in said
    assert "0 B/s" not in said


def test_processes_on_cpus_get_no_advice_for_gpus() -> None:
    times = {size: time * (2 if size == 1 << 26 else 1) for size, time in line(3, last=28).items()}
    text = "# nvlearn measure: MPICH Version: 4.3.2\n" + ranks_of("CPU", 2) + made(times, 2)
    for stated in (None, "H100"):  # a GPU that took no part
        (document,) = read(text, stated)
        assert {"log_cpu", "log_dip_cpu"} <= {f.code for f in document.findings}
        for word in ("NCCL_", "maker", "NVIDIA", "H100"):
            assert word not in document.in_words()


def test_one_rank_sends_nothing() -> None:
    document = one(TEXTS["20"])
    assert "log_one_rank" in found(document)
    assert document["fit"] is None


def test_dips_and_curves_that_still_rise() -> None:
    times = line(440, last=33)
    times[2**28] *= 1.5
    assert "256 MiB" in found(one(H100 + made(times)))["log_dip"]
    assert "log_rising" in codes_of(made(line(440, last=22)))


def test_several_hosts_measure_the_network() -> None:
    pair = ranks_of("NVIDIA A100-SXM4-40GB", 16, 2)
    text = found(one(pair + made(line(90, factor=1.875, last=33), 16)))["log_few_nodes"]
    assert "720 Gb/s one way" in text
    text = found(one(pair + made(line(20, factor=15 / 16, last=33), 16, 1, "none", -1, "N/A", 16)))[
        "log_network"
    ]
    assert "85.32 GB/s one way" in text  # algbw 21.33, 8 GPUs, half of it leaves
    assert "log_few_nodes" not in codes_of(ranks_of("NVIDIA GB200", 16, 4) + made(line(700), 16))


def test_the_average_of_another_run() -> None:
    text = H100 + made(line(440, last=33))
    mean = one(text)["avg_busbw_computed"]
    assert "log_average" not in codes_of(f"{text}# Avg bus bandwidth    : {mean:.6g} \n")
    document = one(f"{text}# Avg bus bandwidth    : 99.5 GB/s\n")
    assert "log_average" in found(document)
    assert document["avg_busbw_reported"] == 99.5
    assert "not the bandwidth" in read(f"{text}# Avg bus bandwidth : 9")[0].in_words()


def test_what_is_missing_is_told() -> None:
    settings_ = "# nThread 1 nGpus 8 minBytes 1024 maxBytes 17179869184 step: 2(factor)\n"
    whole = settings_ + H100 + made(line(440))
    assert codes_of(whole) == set()
    lines = whole.splitlines()
    assert codes_of("\n".join(lines[:-3])) == {"log_cut"}
    assert codes_of("\n".join([*lines[:16], "   ...", *lines[20:]])) == {"log_elided"}
    assert codes_of("\n".join([*lines[:16], *lines[20:]])) == {"log_elided"}
    assert "log_torn" in codes_of(whole.rstrip()[:-30])
    assert "log_no_rows" in codes_of(settings_ + H100 + HEAD)
    assert "log_unordered" in codes_of("\n".join([*lines, *lines[20:30]]))
    edited = re.sub(r"(?m)(-1 +)(\S+)(?=.*\n\s*17179869184)", r"\g<1>1.00", whole)
    assert "log_inconsistent" in codes_of(edited)
    capped = settings_ + "#Reducing maxBytes to 4294967296 due to memory limitation\n"
    assert codes_of(capped + H100 + made(line(440, last=33))) == set()


def test_a_failed_run_is_a_fault() -> None:
    lost = "h: Test NCCL failure common.cu:1005 'unhandled system error'\n"
    text = H100 + made(line(440, last=33))
    assert "log_failed" in codes_of(text + lost)
    assert "log_complaint" in codes_of(lost + text + "# Avg bus bandwidth : 196\n")


# --- the fit ------------------------------------------------------------------------------------


@given(st.floats(1, 1e4), st.floats(0.1, 2e3), st.integers(6, 30))
@settings(max_examples=50)
def test_the_fit_finds_the_line_that_was_drawn(start: float, rate: float, count: int) -> None:
    import numpy as np

    wire = 2.0 ** np.arange(4, 4 + count) * 1e3
    fit = fit_line(wire, start * 1e-6 + wire / (rate * 1e9))
    assert fit is not None
    assert fit["latency_us"] == pytest.approx(start, rel=0.02)
    assert fit["median_error"] < 1e-3


def test_a_table_that_carries_no_fit_says_so() -> None:
    assert "log_no_fit" in codes_of(made(line(440, first=30, last=31)))
    for first, last in ((10, 13), (30, 34), (10, 16)):
        assert "log_fit_weak" in codes_of(made(line(440, first=first, last=last)))


# --- any bytes ----------------------------------------------------------------------------------

FUZZ = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
texts = st.sampled_from(sorted(TEXTS)).map(TEXTS.__getitem__)
seeds = st.integers(0, 10**9).map(Random)
gpus = st.sampled_from([None, "H100 SXM", "RTX 3090", "RTX 4090"])
ODD = ["", "-1", "0", "nan", "inf", "1e999", "1e-300", "1e300", "N/A", "9" * 40, "1.5", "float",
       "\x00", "\u00bd", "\u0663", "1e5", "..."]  # fmt: skip


def bounded(documents: list[dict[str, Any]]) -> None:
    for document in documents:
        assert document["kind"] == "nccl-tests"
        assert document["rows"] >= 0


@FUZZ
@given(texts, st.floats(0, 1), st.floats(0, 1), gpus)
def test_a_log_cut_anywhere(text: str, start: float, stop: float, gpu: str | None) -> None:
    bounded(parse(text[int(start * len(text)) :][: int(stop * len(text))], gpu))


@FUZZ
@given(texts, seeds, gpus)
def test_lines_shuffled_dropped_doubled(text: str, random: Random, gpu: str | None) -> None:
    lines = text.splitlines()
    bounded(parse("\n".join(random.choices(lines, k=random.randrange(2 * len(lines)))), gpu))


@FUZZ
@given(texts, seeds, gpus)
def test_cells_replaced(text: str, random: Random, gpu: str | None) -> None:
    share = random.choice([0.01, 0.1, 0.5])
    swap = lambda m: random.choice(ODD) if random.random() < share else m[0]  # noqa: E731
    bounded(parse(re.sub(r"\S+", swap, text), gpu))


@FUZZ
@given(st.lists(st.one_of(
    st.text(max_size=40),
    st.sampled_from([x for t in TEXTS.values() for x in t.splitlines()]),
    st.lists(st.sampled_from([*ODD, "8", "2", "sum", "0.01"]), max_size=14).map(" ".join),
)), gpus)  # fmt: skip
def test_random_lines(lines: list[str], gpu: str | None) -> None:
    bounded(parse("\n".join(lines), gpu))


def eight(gpu: str, busbw: float, ranks: int = 8) -> str:
    """Return a log of an all-reduce that ends at a bus bandwidth, GB/s."""
    head = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
    rows = [f"# Rank {n} Pid {n} on host device {n} [0x0{n}] {gpu}" for n in range(ranks)] + [head]
    for size in (2**20 << n for n in range(0, 14, 2)):
        algbw = busbw * size / (size + 2**24) / (2 * (ranks - 1) / ranks)
        half = f"{size / algbw / 1e3:.2f} {algbw:.2f} {algbw * 2 * (ranks - 1) / ranks:.2f} 0"
        rows.append(f"{size} {size // 4} float sum -1 {half} {half}")
    return "\n".join(rows)


@pytest.mark.parametrize(("gpu", "busbw", "code"), [
    ("NVIDIA H100 80GB HBM3", 480, "log_above_line"),
    ("NVIDIA H100 80GB HBM3", 760, "log_above_all"),  # the wire would carry more than it can
    ("NVIDIA H100 80GB HBM3", 1893, "log_above_all"),
    ("NVIDIA GeForce RTX 4090", 300, "log_above_all"),
    ("NVIDIA H100 80GB HBM3", 190, "log_slow"),
    ("NVIDIA A100-SXM4-80GB", 120, "log_slow"),
    ("NVIDIA A100-SXM4-80GB", 235, None),
    ("NVIDIA H100 80GB HBM3", 42, "log_pcie_speed"),
])  # fmt: skip
def test_a_peak_is_held_against_what_the_wire_can_carry(gpu, busbw, code) -> None:
    (log,) = field.read(eight(gpu, busbw))
    told = {f.code for f in log.findings} & {
        "log_above_line", "log_above_all", "log_slow", "log_pcie_speed", "log_no_nvls"}
    assert told == ({code} if code else set())
