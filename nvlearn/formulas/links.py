"""Bandwidth of links and of the shapes they are joined in."""

from nvlearn.formulas.checks import Num, Out, guard, larger


def link_bandwidth(lanes: Num, lane_rate_bits: Num, links: Num, directions: Num = 2,
                   coding: Num = 1.0) -> Out:
    """Return the bandwidth of a GPU from its lanes, their rate and its links.

    The only function that can count both ways: ``directions=2`` gives the advertised total.

    Parameters
    ----------
    lanes : float or array
        Lanes of one link in one direction.
    lane_rate_bits : float or array
        Rate of one lane (wire rate where coding is given); bit/s.
    links : float or array
        Links of one GPU.
    directions : float or array, default 2
        Directions that are added up: 1 one way, 2 both ways.
    coding : float or array, default 1.0
        Share of the wire rate that is data, e.g. 16/17 or 128/130.

    Returns
    -------
    float or array
        Bytes per second.

    Raises
    ------
    ValueError
        If lanes or links is not a whole number of 1 or more; lane_rate_bits is not above 0;
        directions is not 1 or 2; coding is not above 0 and at most 1; or a value is not finite.

    Formula: lanes x rate x links x directions x coding / 8; the source document's first formula,
    with the division by 8 that turns bits into bytes.
    Lesson 02.

    >>> link_bandwidth(2, 100e9, 18) / 1e9
    900.0
    """
    return lanes * lane_rate_bits * links * directions * coding / 8


def bandwidth_ratio(a: Num, b: Num) -> Out:
    """Return how many times faster one rate is than another.

    Parameters
    ----------
    a : float or array
        First rate; bytes/s.
    b : float or array
        Second rate, counted in the same directions; bytes/s.

    Returns
    -------
    float or array
        A ratio.

    Raises
    ------
    ValueError
        If a or b is not above 0; or a value is not finite.

    Formula: a / b; the source document, with both rates counted in the same directions.
    Lesson 03.

    >>> bandwidth_ratio(450e9, 64e9)
    7.03125
    """
    return a / b


def ring_aggregate_bandwidth(n: Num, link: Num) -> Out:
    """Return the source document's aggregate bandwidth of a ring.

    It is right for a ring all-reduce in one direction, which keeps all N links busy one way: the
    half is the direction, not a mean distance. It says nothing about all-to-all traffic or
    bisection.

    Parameters
    ----------
    n : float or array
        GPUs that take part.
    link : float or array
        Bandwidth of one link of the ring, BOTH ways added; bytes/s.

    Returns
    -------
    float or array
        Bytes per second, one way.

    Raises
    ------
    ValueError
        If n is not a whole number of 1 or more; link is not above 0; or a value is not finite.

    Formula: N B / 2; the source document, erratum C4.
    Lesson 04.

    >>> ring_aggregate_bandwidth(8, 50e9) / 1e9
    200.0
    """
    return n * link / 2


def ring_mean_distance(n: Num) -> Out:
    """Return the mean number of hops between two GPUs of a ring.

    Parameters
    ----------
    n : float or array
        GPUs that take part.

    Returns
    -------
    float or array
        Hops.

    Raises
    ------
    ValueError
        If n is not a whole number of 1 or more; or a value is not finite.

    Formula: floor(N^2 / 4) / (N - 1), i.e. (N + 1) / 4 for odd N; derived, shortest of both ways
    round.
    Lesson 04.

    >>> round(ring_mean_distance(8), 4)
    2.2857
    """
    return n * n // 4 / larger(n - 1, 1.0)


def all_to_all_ring_bandwidth(n: Num, link: Num) -> Out:
    """Return what a ring delivers when every GPU sends to every other.

    All payload of all GPUs together; it stays below four links however long the ring is.

    Parameters
    ----------
    n : float or array
        GPUs that take part.
    link : float or array
        Bandwidth of one link of the ring, BOTH ways added; bytes/s.

    Returns
    -------
    float or array
        Bytes per second.

    Raises
    ------
    ValueError
        If n is not a whole number of 1 or more; link is not above 0; or a value is not finite.

    Formula: N B / mean distance, which is 4 B (N - 1) / N for even N; derived, erratum C4.
    Lesson 04.

    >>> all_to_all_ring_bandwidth(8, 50e9) / 1e9
    175.0
    """
    return n * (n - 1) * link / larger(n * n // 4, 1.0)


def full_mesh_links(n: Num) -> Out:
    """Return the number of links that join every pair of GPUs.

    Parameters
    ----------
    n : float or array
        GPUs that take part.

    Returns
    -------
    float or array
        Links.

    Raises
    ------
    ValueError
        If n is not a whole number of 1 or more; or a value is not finite.

    Formula: N (N - 1) / 2; one link for each pair.
    Lesson 04.

    >>> full_mesh_links(8)
    28.0
    """
    return n * (n - 1) / 2


def domain_bisection(n: Num, bandwidth: Num) -> Out:
    """Return the bisection bandwidth of a domain behind full switches.

    Parameters
    ----------
    n : float or array
        GPUs that take part.
    bandwidth : float or array
        Bandwidth of one rank, one way; bytes/s.

    Returns
    -------
    float or array
        Bytes per second, one way.

    Raises
    ------
    ValueError
        If n is not a whole number of 1 or more; bandwidth is not above 0; or a value is not finite.

    Formula: N B / 2; half of the GPUs send to the other half (NVIDIA's 57.6 TB/s for 256 GPUs).
    Lesson 08.

    >>> domain_bisection(256, 450e9) / 1e12
    57.6
    """
    return n * bandwidth / 2


def transfer_time(message: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of one transfer.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    bandwidth : float or array
        Bandwidth of one rank, one way; bytes/s.
    latency : float or array, default 0.0
        Latency of one step; s.

    Returns
    -------
    float or array
        Seconds.

    Raises
    ------
    ValueError
        If message or latency is negative; bandwidth is not above 0; or a value is not finite.

    Formula: a + M / B; the latency-bandwidth (Hockney) model.
    Lesson 05.

    >>> transfer_time(14e9, 64e9)
    0.21875
    """
    return latency + message / bandwidth


def half_speed_message(latency: Num, bandwidth: Num) -> Out:
    """Return the message size that reaches half of the bandwidth.

    Parameters
    ----------
    latency : float or array
        Latency of one step; s.
    bandwidth : float or array
        Bandwidth of one rank, one way; bytes/s.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If latency is negative; bandwidth is not above 0; or a value is not finite.

    Formula: a B, where M / B equals a; Hockney's n_1/2.
    Lesson 05.

    >>> round(half_speed_message(40e-6, 450e9))
    18000000
    """
    return latency * bandwidth


guard(globals())  # from here on every formula checks its numbers first
