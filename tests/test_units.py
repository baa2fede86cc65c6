"""Sizes, rates and times are read and written, and a wrong one gets told what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvlearn import units
from nvlearn.units import UnitError, parse_rate, parse_size, parse_time

POSITIVE = st.floats(1e-3, 1e17)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("14 GB", 14e9),
        ("14GB", 14e9),
        ("64 MiB", 2**26),
        ("24.5 gigabytes", 24.5e9),
        ("1 KB", 1000),
        ("1,024 bytes", 1024),
        ("1\u202f800 GB", 1.8e12),
        ("2e3 kB", 2e6),
        ("\uff15 \uff27\uff22", 5e9),
        ("~ 3 TB", 3e12),
        ("0 B", 0),
    ],
)
def test_sizes_are_read(text: str, size: float) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("450 GB/s", 450e9),
        ("900 GB/s both ways", 450e9),
        ("900 GB/s (bidirectional)", 450e9),
        ("bidirectional 900 GB/s", 450e9),
        ("1,800 GB/s, duplex", 900e9),
        ("1.8 TB/s two-way", 900e9),
        ("450 GB/s per direction", 450e9),
        ("450 GB/s each way", 450e9),
        ("450 GB/s one-way", 450e9),
        ("450 GB/s unidirectional", 450e9),
        ("450 GB/s/dir", 450e9),
        ("400 Gb/s", 50e9),
        ("400 Gbit/s", 50e9),
        ("400 Gbps", 50e9),
        ("12 GiB/s", 12 * 2**30),
        ("900 GB\u00b7s\u207b\u00b9", 900e9),
        ("25 gigabytes per second", 25e9),
        ("25 GBps", 25e9),
    ],
)
def test_rates_are_read_one_way(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("54.4 ms", 0.0544),
        ("5 us", 5e-6),
        ("5 \u00b5s", 5e-6),
        ("5 \u03bcs", 5e-6),
        ("2 min", 120),
        ("1 h", 3600),
        ("3 days", 259200),
        ("0.38 seconds", 0.38),
        ("7 ns", 7e-9),
    ],
)
def test_times_are_read(text: str, time: float) -> None:
    assert parse_time(text) == time


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_size, "14 Gb",
         "14 Gb is 14 gigabits, 1.75 GB; write '14 GB' if you mean bytes."),
        (parse_size, "14 GB/s", "14 GB/s is a rate, a size was expected; write '14 GB'."),
        (parse_rate, "900 GB", "900 GB is a size, a rate was expected; write '900 GB/s'."),
        (parse_rate, "54 ms", "54 ms is a time, a rate was expected."),
        (parse_time, "14 GB", "14 GB is a size, a time was expected."),
        (parse_rate, "32 GT/s",
         "32 GT/s counts transfers, a rate was expected; multiply by the lanes and divide by 8 "
         "bits (x16: 64 GB/s one way before framing)."),
    ],
)  # fmt: skip
def test_a_wrong_kind_is_told_in_full(parse: object, text: str, sentence: str) -> None:
    with pytest.raises(UnitError) as error:
        parse(text)  # type: ignore[operator]
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("14", "has no unit"),
        ("14 gb", "bytes or bits"),
        ("400 gbps", "'400 GB/s' for bytes or '400 Gb/s' for bits"),
        ("14 GBs", "write 'GB' or 'GB/s'"),
        ("14 G", "half a unit"),
        ("1,5 GB", "comma"),
        ("0,512 GB", "comma"),
        ("-3 GB", "negative"),
        ("fast", "does not begin with a number"),
        ("", "does not begin with a number"),
        ("7 furlongs", "'furlongs'"),
        ("9e999 GB", "too large"),
        ("9 GB/s one way and both ways", "is not a unit"),
        ("9 GB/s one way, both ways", "write one of them"),
        ("9 GB both ways", "has no direction"),
        ("50 GBaud", "counts symbols"),
    ],
)
def test_the_slip_is_named_and_the_text_quoted(text: str, part: str) -> None:
    with pytest.raises(UnitError) as error:
        parse_rate(text)
    sentence = str(error.value)
    assert part in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@given(POSITIVE, st.booleans())
def test_what_is_written_as_a_size_is_read_back(size: float, binary: bool) -> None:
    assert parse_size(units.format_size(size, binary)) == pytest.approx(size, rel=6e-4)
    exact = units.format_size(size, binary, digits=17)
    assert parse_size(exact) == pytest.approx(size, rel=1e-14)


@given(POSITIVE, st.booleans(), st.booleans())
def test_what_is_written_as_a_rate_is_read_back(rate: float, both: bool, bits: bool) -> None:
    assert parse_rate(units.format_rate(rate, both, bits)) == pytest.approx(rate, rel=6e-4)


@given(st.floats(1e-12, 1e9))
def test_what_is_written_as_a_time_is_read_back(time: float) -> None:
    assert parse_time(units.format_time(time)) == pytest.approx(time, rel=6e-4)


@given(st.text(max_size=20))
def test_no_text_gets_anything_but_a_number_or_a_sentence(text: str) -> None:
    for parse in (parse_size, parse_rate, parse_time):
        try:
            told = parse(text) >= 0
        except UnitError as error:
            told = str(error).endswith(".")
        assert told


def test_the_largest_unit_is_chosen_after_rounding() -> None:
    assert units.format_size(999.96e6) == "1 GB"
    assert units.format_size(1023 * 1024, binary=True) == "1023 KiB"
    assert units.format_rate(450e9) == "450 GB/s one way"
    assert units.format_rate(450e9, both_ways=True) == "900 GB/s both ways"
    assert units.format_rate(50e9, bits=True) == "400 Gb/s one way"
    assert units.format_time(0.0544) == "54.4 ms"
    assert units.format_time(0) == "0 s"
    assert units.format_value(1, "links") == "1 link"
    assert units.format_value(1, "switches") == "1 switch"
    assert units.format_value(2016, "year") == "2016"
