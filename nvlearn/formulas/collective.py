"""Time and traffic of collectives: ring, tree, halving-doubling, in the switch, in a hierarchy."""

from typing import NamedTuple

from nvlearn.formulas.checks import Num, Out, guard, larger, log2, pick, require

#: How often a ring passes the whole array round; 0 where busbw is algbw (nccl-tests).
PASSES = {"all_reduce": 2, "broadcast": 0, "reduce": 0, "sendrecv": 0}
PASSES |= dict.fromkeys(("all_gather", "reduce_scatter", "alltoall", "gather", "scatter"), 1)


class HierarchicalTime(NamedTuple):
    """The two parts of a hierarchical all-reduce, their sum and their maximum, in seconds.

    Attributes
    ----------
    inside : float or array
        Reduce-scatter and all-gather inside the domains.
    across : float or array
        All-reduce of each GPU's share between the domains.
    serial : float or array
        Their sum: the parts follow each other.
    overlapped : float or array
        Their maximum: the shorter part hides behind the longer.

    Lesson 08.

    >>> HierarchicalTime(1.0, 2.0, 3.0, 2.0).serial
    3.0
    """

    inside: Out
    across: Out
    serial: Out
    overlapped: Out


def ring_all_reduce_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of a ring all-reduce.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: 2 (N - 1) (a + M / (N B)); Patarasuk and Yuan 2009, nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> round(ring_all_reduce_time(14e9, 8, 450e9, 1e-6), 7)
    0.0544584
    """
    return 2 * (ranks - 1) * (latency + message / (ranks * bandwidth))


def ring_reduce_scatter_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of a ring reduce-scatter, half of an all-reduce.

    Parameters
    ----------
    message : float or array
        Size of the whole array, not of the part that stays; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: (N - 1) (a + M / (N B)); nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> round(ring_reduce_scatter_time(14e9, 8, 450e9, 1e-6), 7)
    0.0272292
    """
    return (ranks - 1) * (latency + message / (ranks * bandwidth))


def ring_all_gather_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of a ring all-gather, the other half of an all-reduce.

    Parameters
    ----------
    message : float or array
        Size of the whole gathered array; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: (N - 1) (a + M / (N B)); nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> round(ring_all_gather_time(14e9, 8, 450e9, 1e-6), 7)
    0.0272292
    """
    return ring_reduce_scatter_time(message, ranks, bandwidth, latency)


def tree_all_reduce_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of a pipelined double-binary-tree all-reduce.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: 2 log2(N) a + 2 M / B; Sanders, Speck and Traeff 2009.
    Lesson 07.

    >>> round(tree_all_reduce_time(1024, 8, 450e9, 1e-6) * 1e6, 3)
    6.005
    """
    return (ranks > 1) * 2 * (log2(ranks) * latency + message / bandwidth)


def recursive_doubling_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of an all-reduce by recursive doubling.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: log2(N) (a + M / B); Thakur, Rabenseifner and Gropp 2005.
    Lesson 07.

    >>> round(recursive_doubling_time(1024, 8, 450e9, 1e-6) * 1e6, 3)
    3.007
    """
    return log2(ranks) * (latency + message / bandwidth)


def halving_doubling_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of an all-reduce by recursive halving and doubling.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: 2 log2(N) a + 2 (N - 1) / N M / B; Thakur, Rabenseifner and Gropp 2005.
    Lesson 07.

    >>> round(halving_doubling_time(2**24, 8, 450e9, 1e-6) * 1e6, 3)
    71.245
    """
    return 2 * (log2(ranks) * latency + (ranks - 1) / ranks * message / bandwidth)


def ring_tree_crossover(ranks: Num, bandwidth: Num, latency: Num) -> Out:
    """Return the message size above which a ring beats a tree.

    Parameters
    ----------
    ranks : float or array
        Ranks that take part.
    bandwidth : float or array
        Bandwidth of one rank, one way; bytes/s.
    latency : float or array
        Latency of one step; s.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If ranks is not a whole number of 1 or more; bandwidth is not above 0; latency is negative;
        or a value is not finite.

    Formula: N B a (N - 1 - log2 N); derived by setting the two times equal.
    Lesson 07.

    >>> ring_tree_crossover(8, 450e9, 1e-6) / 1e6
    14.4
    """
    return ranks * bandwidth * latency * (ranks - 1 - log2(ranks))


def nvls_all_reduce_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of an all-reduce that the switch sums up (NVLink SHARP).

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: a + M (N + 1) / (N B), 0 for one rank; NCCL's bus bytes M + M / N, nccl-tests PR 239.
    Lesson 07.

    >>> round(nvls_all_reduce_time(2**30, 8, 305e9) * 1e6, 1)
    3960.5
    """
    return (ranks > 1) * (latency + (ranks + 1) / ranks * message / bandwidth)


def nvls_wire_bytes(message: Num, ranks: Num) -> Out:
    """Return the bytes that cross a GPU's link when the switch sums up.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; ranks is not a whole number of 1 or more; or a value is not finite.

    Formula: M (N + 1) / N, 0 for one rank; nccl-tests PR 239.
    Lesson 07.

    >>> nvls_wire_bytes(14e9, 8) / 1e9
    15.75
    """
    return (ranks > 1) * (ranks + 1) / ranks * message


def ring_nvls_ratio(ranks: Num, ring_bandwidth: Num = 1.0, nvls_bandwidth: Num = 1.0) -> Out:
    """Return how many times faster in-switch reduction is than a ring.

    Parameters
    ----------
    ranks : float or array
        Ranks that take part.
    ring_bandwidth : float or array, default 1.0
        Bandwidth of one rank with a ring, one way; bytes/s.
    nvls_bandwidth : float or array, default 1.0
        Bandwidth of one rank with in-switch reduction, one way; bytes/s.

    Returns
    -------
    float or array
        A ratio.

    Raises
    ------
    ValueError
        If ranks is not a whole number of 1 or more; ring_bandwidth or nvls_bandwidth is not above
        0; or a value is not finite.

    Formula: 2 (N - 1) / (N + 1) x B_nvls / B_ring; derived from the bytes on the wire.
    Lesson 07.

    >>> round(ring_nvls_ratio(8), 4)
    1.5556
    """
    return 2 * (ranks - 1) / (ranks + 1) * nvls_bandwidth / ring_bandwidth


def ring_nvls_crossover(ring_bandwidth: Num, nvls_bandwidth: Num) -> Out:
    """Return the rank count from which in-switch reduction beats a ring.

    Parameters
    ----------
    ring_bandwidth : float or array
        Bandwidth of one rank with a ring, one way; bytes/s.
    nvls_bandwidth : float or array
        Bandwidth of one rank with in-switch reduction, one way; bytes/s.

    Returns
    -------
    float or array
        GPUs.

    Raises
    ------
    ValueError
        If an argument is not above 0, or nvls_bandwidth is at most half of ring_bandwidth.

    Formula: (2 B_nvls + B_ring) / (2 B_nvls - B_ring); derived by setting the ratio to 1.
    Lesson 07.

    >>> round(ring_nvls_crossover(366e9, 306e9), 2)
    3.98
    """
    gain = 2 * nvls_bandwidth - ring_bandwidth
    require(gain > 0, "nvls_bandwidth is half of ring_bandwidth or less: a ring always wins")
    return (2 * nvls_bandwidth + ring_bandwidth) / gain


def hierarchical_all_reduce_time(message: Num, gpus_inside: Num, domains: Num, bandwidth: Num,
                                 network_bandwidth: Num) -> HierarchicalTime:
    """Return both parts of an all-reduce over several domains: inside and across.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    gpus_inside : float or array
        GPUs in one domain.
    domains : float or array
        Domains (nodes or racks).
    bandwidth : float or array
        Bandwidth of one rank, one way; bytes/s.
    network_bandwidth : float or array
        Network bandwidth of one GPU, one way; bytes/s.

    Returns
    -------
    HierarchicalTime
        Parts ``inside`` and ``across``, their sum ``serial`` and maximum ``overlapped``; s.

    Raises
    ------
    ValueError
        If message is negative; gpus_inside or domains is not a whole number of 1 or more; bandwidth
        or network_bandwidth is not above 0; or a value is not finite.

    Formula: 2 (g - 1) / g M / B and 2 (k - 1) / k (M / g) / B_nic: reduce-scatter inside,
    all-reduce of M / g across, all-gather inside; stas00/ml-engineering, network.
    Lesson 08.

    >>> round(hierarchical_all_reduce_time(2**32, 8, 4, 740.64e9, 50e9).serial * 1e3, 2)
    26.25
    """
    inside = ring_all_reduce_time(message, gpus_inside, bandwidth)
    across = ring_all_reduce_time(message / gpus_inside, domains, network_bandwidth)
    return HierarchicalTime(inside, across, inside + across, larger(inside, across))


def network_rate_from_busbw(busbw: Num, domains: Num, ranks: Num) -> Out:
    """Return a GPU's real network rate behind a reported bus bandwidth.

    Parameters
    ----------
    busbw : float or array
        Bus bandwidth as nccl-tests reports it; bytes/s.
    domains : float or array
        Domains (nodes or racks).
    ranks : float or array
        Ranks that take part.

    Returns
    -------
    float or array
        Bytes per second, one way.

    Raises
    ------
    ValueError
        If busbw is not above 0; domains or ranks is not a whole number of 1 or more; or a value is
        not finite.

    Formula: busbw (k - 1) / (N - 1); stas00/ml-engineering, network.
    Lesson 08.

    >>> round(network_rate_from_busbw(377.34e9, 4, 32) / 1e9, 3)
    36.517
    """
    return busbw * (domains - 1) / larger(ranks - 1, 1.0)


def all_to_all_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the time of an all-to-all over full switches.

    Parameters
    ----------
    message : float or array
        Size of one rank's whole send buffer; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: (N - 1) a + M (N - 1) / (N B); nccl-tests PERFORMANCE.md.
    Lesson 06.

    >>> round(all_to_all_time(2**30, 72, 660e9) * 1e3, 4)
    1.6043
    """
    return ring_reduce_scatter_time(message, ranks, bandwidth, latency)


def busbw_factor(ranks: Num, collective: str = "all_reduce") -> Out:
    """Return the factor from algorithm bandwidth to bus bandwidth.

    Parameters
    ----------
    ranks : float or array
        Ranks that take part.
    collective : str, default "all_reduce"
        Collective as nccl-tests names it, e.g. all_reduce.

    Returns
    -------
    float or array
        A ratio.

    Raises
    ------
    ValueError
        If ranks is not a whole number of 1 or more, or collective is not one of the names above.

    Formula: 2 (N - 1) / N all_reduce; (N - 1) / N all_gather, reduce_scatter, alltoall, gather,
    scatter; 1 broadcast, reduce, sendrecv; nccl-tests PERFORMANCE.md.
    Lesson 05.

    >>> busbw_factor(8)
    1.75
    """
    passes = pick(PASSES, collective, "collective")
    return passes * (ranks - 1) / ranks if passes else ranks / ranks


def algbw(message: Num, time: Num) -> Out:
    """Return the algorithm bandwidth of a collective.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    time : float or array
        Time of the collective; s.

    Returns
    -------
    float or array
        Bytes per second.

    Raises
    ------
    ValueError
        If message is negative; time is not above 0; or a value is not finite.

    Formula: M / T; nccl-tests PERFORMANCE.md.
    Lesson 05.

    >>> algbw(14e9, 0.07) / 1e9
    199.99999999999997
    """
    return message / time


def busbw_from_algbw(algbw: Num, ranks: Num, collective: str = "all_reduce") -> Out:
    """Return the bus bandwidth that belongs to an algorithm bandwidth.

    Parameters
    ----------
    algbw : float or array
        Algorithm bandwidth, size over time; bytes/s.
    ranks : float or array
        Ranks that take part.
    collective : str, default "all_reduce"
        Collective as nccl-tests names it, e.g. all_reduce.

    Returns
    -------
    float or array
        Bytes per second.

    Raises
    ------
    ValueError
        If algbw is not above 0; ranks is not a whole number of 1 or more; or a value is not finite.

    Formula: algbw x factor; nccl-tests PERFORMANCE.md.
    Lesson 05.

    >>> busbw_from_algbw(200e9, 8) / 1e9
    350.0
    """
    return algbw * busbw_factor(ranks, collective)


def algbw_from_busbw(busbw: Num, ranks: Num, collective: str = "all_reduce") -> Out:
    """Return the algorithm bandwidth that belongs to a bus bandwidth.

    Parameters
    ----------
    busbw : float or array
        Bus bandwidth as nccl-tests reports it; bytes/s.
    ranks : float or array
        Ranks that take part.
    collective : str, default "all_reduce"
        Collective as nccl-tests names it, e.g. all_reduce.

    Returns
    -------
    float or array
        Bytes per second.

    Raises
    ------
    ValueError
        If busbw is not above 0, collective is unknown, or one rank alone leaves nothing to convert.

    Formula: busbw / factor; nccl-tests PERFORMANCE.md.
    Lesson 05.

    >>> algbw_from_busbw(350e9, 8) / 1e9
    200.0
    """
    factor = busbw_factor(ranks, collective)
    require(factor > 0, "ranks is 1: nothing moves, so no algorithm bandwidth follows")
    return busbw / factor


def ring_traffic_per_rank(message: Num, ranks: Num) -> Out:
    """Return the bytes that each GPU sends in a ring all-reduce.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; ranks is not a whole number of 1 or more; or a value is not finite.

    Formula: 2 (N - 1) / N M; it tends to 2 M however many GPUs there are.
    Lesson 06.

    >>> ring_traffic_per_rank(14e9, 8) / 1e9
    24.5
    """
    return 2 * (ranks - 1) / ranks * message


def ring_total_traffic(message: Num, ranks: Num) -> Out:
    """Return the bytes that all GPUs send in a ring all-reduce.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If message is negative; ranks is not a whole number of 1 or more; or a value is not finite.

    Formula: 2 (N - 1) M; the sum of what each rank sends.
    Lesson 06.

    >>> ring_total_traffic(14e9, 8) / 1e9
    196.0
    """
    return 2 * (ranks - 1) * message


def parameter_server_upload(parameters: Num, value_bytes: Num, ranks: Num) -> Out:
    """Return the source document's total traffic: what a parameter server receives.

    A ring moves ``ring_total_traffic`` instead.

    Parameters
    ----------
    parameters : float or array
        Parameters of the model.
    value_bytes : float or array
        Bytes of one value: 4 for FP32, 2 for FP16 and BF16; bytes.
    ranks : float or array
        Ranks that take part.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If parameters is negative; value_bytes is not above 0; ranks is not a whole number of 1 or
        more; or a value is not finite.

    Formula: P d N; the source document, erratum D4.
    Lesson 06.

    >>> parameter_server_upload(7e9, 2, 8) / 1e9
    112.0
    """
    return parameters * value_bytes * ranks


def break_even_compute(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0) -> Out:
    """Return the compute time below which a fully overlapped ring all-reduce still shows.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    ranks : float or array
        Ranks that take part.
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
        If message or latency is negative; ranks is not a whole number of 1 or more; bandwidth is
        not above 0; or a value is not finite.

    Formula: the ring all-reduce time itself, since max(compute, communication) must exceed compute.
    Lesson 07.

    >>> round(break_even_compute(14e9, 8, 64e9), 3)
    0.383
    """
    return ring_all_reduce_time(message, ranks, bandwidth, latency)


guard(globals())  # from here on every formula checks its numbers first
