"""Sizes, rates and times: the only place that converts and the only place that formats.

Inside the package a size is bytes, a time seconds, a rate bytes per second one way. GB is 10^9
bytes and GiB 2^30. A text that says no direction means one way.
"""

import math
import re
import unicodedata
from typing import NamedTuple

KB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
NS, US, MS, MINUTE, HOUR, DAY = 1e-9, 1e-6, 1e-3, 60.0, 3600.0, 86400.0
BITS_PER_BYTE = 8

_DECIMAL: dict[str, float] = {"": 1, "k": KB, "M": MB, "G": GB, "T": TB, "P": 1e15}
_BINARY: dict[str, float] = {"": 1, "Ki": KIB, "Mi": MIB, "Gi": GIB, "Ti": TIB, "Pi": 2**50}
_WORDS = {"k": "kilo", "M": "mega", "G": "giga", "T": "tera", "P": "peta"}
_PREFIXES = _DECIMAL | _BINARY | {word: _DECIMAL[prefix] for prefix, word in _WORDS.items()} | {
    "K": KB, "kibi": KIB, "mebi": MIB, "gibi": GIB}
_THINGS = {"b": "bit", "bit": "bit", "B": "B", "byte": "B", "T": "T/s", "baud": "Bd", "bd": "Bd"}
_TIMES = {"ns": NS, "us": US, "\u03bcs": US, "ms": MS, "s": 1.0, "sec": 1.0, "second": 1.0,
          "min": MINUTE, "minute": MINUTE, "h": HOUR, "hour": HOUR, "d": DAY, "day": DAY}
_NUMBER = r"(?:[1-9]\d{0,2}(?:[,_' ]\d{3})+(?!\d)(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_UNIT = re.compile(
    rf"({'|'.join(sorted(_PREFIXES, key=len, reverse=True))})"
    r"(B|b|T|Bd|[Bb]aud|[Bb]ytes?|[Bb]its?)(/s(?:ec(?:ond)?)?|ps|\s?per second)?")
_DIRECTION = re.compile(
    r"[\s,;(\[]*(?:(?P<one>\bone[- ]?way\b|(?:\b(?:per|in one|in each|each)[- ]|/)(?:dir(?:ection)?"
    r"|way)\b|\buni(?:-?directional)?\b|\bsimplex\b)|(?P<both>\bboth (?:ways|directions)\b"
    r"|\bbi-?dir(?:ectional)?\b|\btwo[- ]ways?\b|(?:\bfull[- ]?)?\bduplex\b))[)\]]*",
    re.IGNORECASE)
_SHOWN = {"B": "B", "bit": "b", "B/s": "B/s", "bit/s": "b/s", "T/s": "T/s", "Bd": "Baud"}
_SCALES = {unit: [(factor, prefix + name) for prefix, factor in _DECIMAL.items()]
           for unit, name in _SHOWN.items()} | {
    "B binary": [(factor, f"{prefix}B") for prefix, factor in _BINARY.items()],
    "s": [(NS, "ns"), (US, "\u00b5s"), (MS, "ms"), (1, "s"), (MINUTE, "min"), (HOUR, "h"),
          (DAY, "days")]}
_KINDS = {"B": "a size", "bit": "a size in bits", "B/s": "a rate", "bit/s": "a rate in bits",
          "s": "a time", "T/s": "a count of transfers", "Bd": "a count of symbols"}


class UnitError(ValueError):
    """A size, rate or time that cannot be read; its sentence names the slip."""


class Quantity(NamedTuple):
    """What a text says: a number in its base unit (B, bit, s, B/s, bit/s, T/s, Bd), as stated."""

    value: float
    unit: str
    direction: str
    shown: str


def base_unit(unit: str) -> tuple[float, str]:
    """Return the factor and the base unit of a unit; what is only counted keeps factor 1."""
    plain = unit.removesuffix("s") if len(unit) > 3 else unit
    if plain in _TIMES:
        return _TIMES[plain], "s"
    if not (found := _UNIT.fullmatch(unit)):
        return 1.0, unit
    prefix, thing, per = found.groups()
    base = _THINGS[thing if thing in _THINGS else thing.lower().removesuffix("s")]
    return _PREFIXES[prefix], base + "/s" if per and base in ("B", "bit") else base


def to_base(value: float, unit: str) -> tuple[float, str]:
    """Return a number in its base unit; what is only counted stays what it is."""
    factor, base = base_unit(unit)
    return value * factor if factor > 1 else value / round(1 / factor), base


def read(text: str) -> Quantity:
    """Read a number with its unit and, for a rate, its direction."""
    if len(text) > 200:
        raise UnitError("The text is longer than 200 characters; write one number with its unit.")
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2215", "/")
    ways = {"one way" if hit["one"] else "both ways" for hit in _DIRECTION.finditer(plain)}
    plain = " ".join(_DIRECTION.sub(" ", plain).split()).lstrip("~\u2248+ ")
    if not (found := re.match(_NUMBER, plain)):
        raise UnitError(f"{text!r} is negative; a size, a rate or a time is at least 0."
                        if plain.startswith("-") else f"{text!r} does not begin with a number; "
                        "write for example '14 GB', '450 GB/s', '5 us'.")
    unit = re.sub(r"\s*/\s*|\s?[.\u00b7* ]s\^?-1$", "/", plain[found.end() :].strip())
    unit = unit + "s" if unit.endswith("/") else unit
    value, base = to_base(float(re.sub(r"[,_' ]", "", found.group())), unit)
    if base not in _KINDS:
        raise UnitError(_bad_unit(text, found.group(), unit))
    if not math.isfinite(value):
        raise UnitError(f"{text!r} is too large to compute with.")
    if len(ways) > 1:
        raise UnitError(f"{text!r} says both one way and both ways; write one of them.")
    if ways and base in ("B", "bit", "s"):
        raise UnitError(f"{text!r} is {_KINDS[base]} and has no direction; leave the words away.")
    return Quantity(value, base, ways.pop() if ways else "", f"{found.group()} {unit}")


def _bad_unit(text: str, number: str, unit: str) -> str:
    if not unit:
        return f"{text!r} has no unit; write for example '{number} GB' (or GB/s, ms, ...)."
    if re.match(r",\d", unit):
        return f"{text!r} has a comma inside the number; write a point, such as '1.5 GB'."
    if re.fullmatch(r"[kmgtp]i?b(/s|ps)?", unit, re.IGNORECASE):
        big, end = unit[0].upper(), "/s" if unit.endswith("s") else ""
        return (f"{text!r} leaves open whether bytes or bits are meant; write '{number} "
                f"{big}B{end}' for bytes or '{number} {big}b{end}' for bits.")
    if re.fullmatch(r"[kKMGTP]i?[Bb]s", unit):
        return f"{text!r} is neither a size nor a rate; write '{unit[:-1]}' or '{unit[:-1]}/s'."
    if unit in _PREFIXES:
        return f"{text!r} has half a unit; write '{number} {unit}B' or '{number} {unit}b/s'."
    return (f"{unit!r} in {text!r} is not a unit known here; sizes are in B, kB, MB, GB, TB or "
            "KiB, MiB, GiB, rates in GB/s or Gb/s, times in us, ms, s, min, h.")


def _expect(text: str, *wanted: str) -> Quantity:
    """Read a text that must be of a kind; the error says what it was and what to write."""
    value, unit, _, shown = quantity = read(text)
    if unit in wanted:
        return quantity
    is_a = f"is {_KINDS[unit]}".replace("is a count of", "counts")
    sentence = f"{shown} {is_a}, {_KINDS[wanted[0]]} was expected"
    if unit == "bit" and "B" in wanted:
        number, name = _scaled(value, "bit", 4).split()
        sentence = (f"{shown} is {number} {_WORDS.get(name[0], '')}bits, "
                    f"{format_size(value / BITS_PER_BYTE)}; "
                    f"write '{number} {name.replace('b', 'B')}' if you mean bytes")
    elif unit in ("T/s", "Bd") and "B/s" in wanted:
        lanes16 = format_rate(value * 16 / BITS_PER_BYTE)
        more = f" (x16: {lanes16} before framing)" if unit == "T/s" else ", after bits per symbol"
        sentence += "; multiply by the lanes and divide by 8 bits" + more
    elif unit + "/s" in wanted:
        sentence += f"; write '{shown}/s'"
    elif unit.removesuffix("/s") in wanted:
        sentence += f"; write '{re.sub('/s.*|ps$|.per second$', '', shown)}'"
    raise UnitError(f"{sentence}.")


def parse_size(text: str) -> float:
    """Return the bytes that a text such as "14 GB" or "64 MiB" means."""
    return _expect(text, "B").value


def parse_rate(text: str) -> float:
    """Return bytes per second, one way, of a text such as "900 GB/s both ways" or "400 Gb/s"."""
    value, unit, direction, _ = _expect(text, "B/s", "bit/s")
    one_way = value / 2 if direction == "both ways" else value
    return one_way / BITS_PER_BYTE if unit == "bit/s" else one_way


def parse_time(text: str) -> float:
    """Return the seconds that a text such as "54.4 ms" or "2 min" means."""
    return _expect(text, "s").value


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return f"{float(text):.15g}" if "e" in text and abs(value) < 1e15 else text


def _scaled(value: float, unit: str, digits: int) -> str:
    """Write a value with the largest unit that leaves at least 1 after rounding."""
    rounded = abs(float(f"{value:.{digits - 1}e}")) * (1 + 1e-12)
    steps = [step for step in _SCALES[unit] if step[0] <= rounded] or [_SCALES[unit][0]]
    if unit == "s" and value == 0:
        steps = [(1.0, "s")]
    return f"{_number(value / steps[-1][0], digits)} {steps[-1][1]}"


def format_size(size: float, binary: bool = False, digits: int = 4) -> str:
    """Write bytes as "14 GB", or with binary units as "64 MiB"."""
    return _scaled(size, "B binary" if binary else "B", digits)


def format_rate(rate: float, both_ways: bool = False, bits: bool = False, digits: int = 4) -> str:
    """Write one-way bytes per second as "450 GB/s one way", "900 GB/s both ways" or in Gb/s."""
    value = rate * (2 if both_ways else 1) * (BITS_PER_BYTE if bits else 1)
    way = "both ways" if both_ways else "one way"
    return f"{_scaled(value, 'bit/s' if bits else 'B/s', digits)} {way}"


def format_time(time: float, digits: int = 4) -> str:
    """Write seconds as "54.4 ms"."""
    return _scaled(time, "s", digits)


def format_value(value: float, unit: str, direction: str = "", digits: int = 5) -> str:
    """Write a number of any base unit or counted thing: "18 links", "900 GB/s both ways"."""
    text = _scaled(value, unit, digits) if unit in _SCALES else _number(value, 9)
    if unit not in (*_SCALES, "year", "1"):
        text += f" {re.sub('(?<=ch)es$|s$', '', unit) if value == 1 else unit}"
    return f"{text} {direction}" if direction in ("one way", "both ways") else text
