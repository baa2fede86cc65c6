"""Bandwidth of links and of their shapes; speedup, efficiency, overlap and growth."""

from nvlearn.formulas.checks import Num, Out, guard, larger, require


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


def amdahl_speedup(parallel_share: Num, n: Num) -> Out:
    """Return the speedup that Amdahl's law allows.

    Parameters
    ----------
    parallel_share : float or array
        Share of the work that can run in parallel.
    n : float or array
        GPUs that take part.

    Returns
    -------
    float or array
        A ratio.

    Raises
    ------
    ValueError
        If parallel_share is not between 0 and 1; n is not a whole number of 1 or more; or a value
        is not finite.

    Formula: 1 / ((1 - p) + p / N); Amdahl 1967, the source document.
    Lesson 05.

    >>> round(amdahl_speedup(0.99, 1000), 2)
    90.99
    """
    return 1 / ((1 - parallel_share) + parallel_share / n)


def step_time(compute: Num, communication: Num, overlap: bool = True) -> Out:
    """Return the time of a training step.

    Parameters
    ----------
    compute : float or array
        Compute time of one step; s.
    communication : float or array
        Communication time of one step; s.
    overlap : bool, default True
        Whether communication runs during compute.

    Returns
    -------
    float or array
        Seconds.

    Raises
    ------
    ValueError
        If compute or communication is negative; or a value is not finite.

    Formula: max(compute, communication) with full overlap, else the sum; the source document.
    Lesson 07.

    >>> step_time(0.8, 0.383, overlap=False)
    1.183
    """
    return larger(compute, communication) if overlap else compute + communication


def exposed_share(compute: Num, communication: Num, overlap: bool = False) -> Out:
    """Return the share of a step in which GPUs only wait for communication.

    Parameters
    ----------
    compute : float or array
        Compute time of one step; s.
    communication : float or array
        Communication time of one step; s.
    overlap : bool, default False
        Whether communication runs during compute.

    Returns
    -------
    float or array
        A share.

    Raises
    ------
    ValueError
        If compute or communication is negative; or a value is not finite.

    Formula: (step - compute) / step; definition.
    Lesson 07.

    >>> round(exposed_share(0.8, 24.5 / 450), 3)
    0.064
    """
    step = step_time(compute, communication, overlap)
    return (step - compute) / larger(step, 1e-300)


def speedup(t1: Num, tn: Num) -> Out:
    """Return how many times faster N GPUs are than one.

    Parameters
    ----------
    t1 : float or array
        Time on one GPU; s.
    tn : float or array
        Time on N GPUs; s.

    Returns
    -------
    float or array
        A ratio.

    Raises
    ------
    ValueError
        If t1 or tn is not above 0; or a value is not finite.

    Formula: T1 / TN; definition.
    Lesson 08.

    >>> speedup(80, 12.5)
    6.4
    """
    return t1 / tn


def scaling_efficiency(t1: Num, tn: Num, n: Num) -> Out:
    """Return the share of ideal scaling that N GPUs reach.

    Parameters
    ----------
    t1 : float or array
        Time on one GPU; s.
    tn : float or array
        Time on N GPUs; s.
    n : float or array
        GPUs that take part.

    Returns
    -------
    float or array
        A share, 1 is ideal.

    Raises
    ------
    ValueError
        If t1 or tn is not above 0; n is not a whole number of 1 or more; or a value is not finite.

    Formula: T1 / (N TN); the source document.
    Lesson 08.

    >>> scaling_efficiency(80, 12.5, 8)
    0.8
    """
    return t1 / (n * tn)


def growth(b0: Num, rate: Num, t: Num) -> Out:
    """Return a value after compound growth.

    Parameters
    ----------
    b0 : float or array
        Value at the start.
    rate : float or array
        Growth per step of t: per year if t is in years.
    t : float or array
        Years or generations, the same as rate.

    Returns
    -------
    float or array
        In the unit of b0.

    Raises
    ------
    ValueError
        If b0 is not above 0; rate is -1 or less; t is negative; or a value is not finite.

    Formula: B0 (1 + g)^t; the source document. Years and generations must not be mixed.
    Lesson 09.

    >>> growth(160, 1.0, 2)
    640.0
    """
    return b0 * (1 + rate) ** t


def compound_rate(b0: Num, b1: Num, t: Num) -> Out:
    """Return the growth per step that joins two values.

    Parameters
    ----------
    b0 : float or array
        Value at the start.
    b1 : float or array
        Value at the end, same unit.
    t : float or array
        Years or generations between the two, above 0.

    Returns
    -------
    float or array
        Per step of t.

    Raises
    ------
    ValueError
        If b0 or b1 is not above 0; t is negative; or a value is not finite.

    Formula: (B1 / B0)^(1 / t) - 1; growth solved for its rate.
    Lesson 09.

    >>> round(compound_rate(160, 1800, 8), 3)
    0.353
    """
    require(t > 0, "t is 0; expected a number of years or generations above 0")
    return (b1 / b0) ** (1 / t) - 1


def time_saved(slow: Num, fast: Num, iterations: Num) -> Out:
    """Return the time a faster link saves over a run, if nothing is overlapped.

    Parameters
    ----------
    slow : float or array
        Time of the slow way, per iteration; s.
    fast : float or array
        Time of the fast way, per iteration; s.
    iterations : float or array
        Iterations.

    Returns
    -------
    float or array
        Seconds.

    Raises
    ------
    ValueError
        If slow or fast or iterations is negative; or a value is not finite.

    Formula: (T_slow - T_fast) I; negative if the fast way is slower.
    Lesson 06.

    >>> round(time_saved(0.383, 0.054, 10_000))
    3290
    """
    return (slow - fast) * iterations


guard(globals())  # from here on every formula checks its numbers first
