"""The look of every picture: one palette, one typeface, one set of text sizes.

The hues are Okabe and Ito's, which stay apart for colour-blind readers; the dark
forms carry text on white (and white text) with a contrast of at least 4.5 to 1.
"""

from dataclasses import dataclass

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"

PAPER, GROUND, RULE, INK, MUTED = "#FFFFFF", "#F3F6F4", "#D5DCD8", "#1B2733", "#53606B"
FACTORY, WORK = "#3E4D5B", "#DDE5EC"
#: How full a line is: free, filling, full.
FREE, AMBER, JAM = "#009E73", "#E69F00", "#B34700"

TITLE, BODY, SMALL, TINY = 20.0, 14.0, 12.0, 11.0


@dataclass(frozen=True, slots=True)
class Way:
    """How one kind of connection is drawn: fill, dark form for text, tint, dash."""

    fill: str
    dark: str
    tint: str
    dash: str


WAYS = {
    "nvlink": Way("#009E73", "#00664A", "#D3EEE4", "none"),
    "nvswitch": Way("#CC79A7", "#8A3B68", "#F6E3ED", "none"),
    "pcie": Way("#8A8F94", "#565B60", "#E6E8E9", "10 5"),
    "infiniband": Way("#0072B2", "#005A8C", "#D6E8F3", "14 3 3 3")}
