"""Speedup, efficiency, overlap and growth."""

from nvlearn.formulas.checks import TINY, Num, Out, guard, larger, require


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
    return (step - compute) / larger(step, TINY)


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
