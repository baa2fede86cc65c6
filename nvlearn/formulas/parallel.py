"""Bytes and time of a training or decode step: data, tensor, pipeline and expert parallel."""

from typing import NamedTuple

from nvlearn.formulas.checks import Num, Out, guard, larger
from nvlearn.formulas.collective import ring_all_reduce_time


class DecodeTime(NamedTuple):
    """The parts of the time of one decoded token and their sum, in seconds.

    Attributes
    ----------
    weights : float or array
        Reading the weights from memory.
    cache : float or array
        Reading the key-value cache from memory.
    communication : float or array
        All-reduces of the layers.
    total : float or array
        Their sum.

    Lesson 10.

    >>> DecodeTime(1.0, 0.5, 0.25, 1.75).total
    1.75
    """

    weights: Out
    cache: Out
    communication: Out
    total: Out


def parameter_bytes(parameters: Num, value_bytes: Num) -> Out:
    """Return the bytes of one value per parameter: weights or gradients.

    Parameters
    ----------
    parameters : float or array
        Parameters of the model.
    value_bytes : float or array
        Bytes of one value: 4 for FP32, 2 for FP16 and BF16; bytes.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If parameters is negative; value_bytes is not above 0; or a value is not finite.

    Formula: P d; definition.
    Lesson 06.

    >>> parameter_bytes(7e9, 2) / 1e9
    14.0
    """
    return parameters * value_bytes


def bucket_count(message: Num, bucket: Num = 26214400.0) -> Out:
    """Return how many buckets a gradient is cut into.

    Parameters
    ----------
    message : float or array
        Size of the array, as nccl-tests counts it; bytes.
    bucket : float or array, default 26214400.0
        Size of one gradient bucket; bytes.

    Returns
    -------
    float or array
        Buckets.

    Raises
    ------
    ValueError
        If message is negative; bucket is not above 0; or a value is not finite.

    Formula: ceil(M / bucket); PyTorch DDP's default bucket is 25 MiB (Li et al. 2020).
    Lesson 07.

    >>> bucket_count(14e9)
    535.0
    """
    return -(-message // bucket)


def bucket_exposed_time(buckets: Num, bucket_time: Num, backward: Num) -> Out:
    """Return the communication that remains after the backward pass hides what it can.

    Parameters
    ----------
    buckets : float or array
        Gradient buckets.
    bucket_time : float or array
        Communication time of one bucket; s.
    backward : float or array
        Time of the backward pass; s.

    Returns
    -------
    float or array
        Seconds.

    Raises
    ------
    ValueError
        If buckets is not a whole number of 1 or more; bucket_time or backward is negative; or a
        value is not finite.

    Formula: c + (n - 1) max(0, c - Tb / n): the last bucket can never be hidden; Li et al. 2020.
    Lesson 07.

    >>> round(bucket_exposed_time(535, 0.22721e-3, 0.1) * 1e3, 2)
    21.74
    """
    return bucket_time + (buckets - 1) * larger(bucket_time - backward / buckets, 0.0)


def zero_memory(parameters: Num, ranks: Num, stage: Num = 0) -> Out:
    """Return the bytes of model state per GPU: Adam, mixed precision.

    Parameters
    ----------
    parameters : float or array
        Parameters of the model.
    ranks : float or array
        Ranks that take part.
    stage : float or array, default 0
        ZeRO stage; 0 is plain data parallel, 3 is FSDP.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If parameters is negative; ranks is not a whole number of 1 or more; stage is not 0, 1, 2 or
        3; or a value is not finite.

    Formula: 16 P; 4 P + 12 P / N; 2 P + 14 P / N; 16 P / N for stages 0 to 3; Rajbhandari et al.
    2020.
    Lesson 06.

    >>> zero_memory(7.5e9, 64, stage=2) / 1e9
    16.640625
    """
    # Cut are: optimizer, then gradients, then weights.
    kept = 16 - 12 * (stage >= 1) - 2 * (stage >= 2) - 2 * (stage >= 3)
    return parameters * (kept + (16 - kept) / ranks)


def pipeline_bubble_share(stages: Num, microbatches: Num, interleave: Num = 1) -> Out:
    """Return the idle share of a pipeline's whole step.

    Parameters
    ----------
    stages : float or array
        Pipeline stages.
    microbatches : float or array
        Micro-batches in one step.
    interleave : float or array, default 1
        Model chunks per stage; 1 is not interleaved.

    Returns
    -------
    float or array
        Share of the step.

    Raises
    ------
    ValueError
        If stages or microbatches or interleave is not a whole number of 1 or more; or a value is
        not finite.

    Formula: (p - 1) / (v m + p - 1); Narayanan et al. 2021.
    Lesson 06.

    >>> round(pipeline_bubble_share(8, 32), 5)
    0.17949
    """
    return (stages - 1) / (interleave * microbatches + stages - 1)


def pipeline_bubble_overhead(stages: Num, microbatches: Num, interleave: Num = 1) -> Out:
    """Return the idle time of a pipeline over its ideal time.

    Parameters
    ----------
    stages : float or array
        Pipeline stages.
    microbatches : float or array
        Micro-batches in one step.
    interleave : float or array, default 1
        Model chunks per stage; 1 is not interleaved.

    Returns
    -------
    float or array
        Share of the ideal time.

    Raises
    ------
    ValueError
        If stages or microbatches or interleave is not a whole number of 1 or more; or a value is
        not finite.

    Formula: (p - 1) / (v m); Narayanan et al. 2021.
    Lesson 06.

    >>> pipeline_bubble_overhead(8, 32, interleave=4)
    0.0546875
    """
    return (stages - 1) / (interleave * microbatches)


def decode_time(weights: Num, kv_cache: Num, ranks: Num, memory_bandwidth: Num, layers: Num,
                all_reduce: Num) -> DecodeTime:
    """Return the parts of the time of one decoded token with tensor parallelism.

    Parameters
    ----------
    weights : float or array
        Bytes of all weights; bytes.
    kv_cache : float or array
        Bytes of the key-value cache that one token reads; bytes.
    ranks : float or array
        Tensor-parallel GPUs.
    memory_bandwidth : float or array
        Memory bandwidth of one GPU; bytes/s.
    layers : float or array
        Layers of the model.
    all_reduce : float or array
        Time of one all-reduce of a layer's activations; s.

    Returns
    -------
    DecodeTime
        Parts ``weights``, ``cache`` and ``communication``, and their ``total``; s.

    Raises
    ------
    ValueError
        If weights or kv_cache or all_reduce is negative; ranks or layers is not a whole number of 1
        or more; memory_bandwidth is not above 0; or a value is not finite.

    Formula: W / (t HBM), KV / (t HBM) and 2 L T_ar; Pope et al. 2022, scaling-book inference.
    Lesson 10.

    >>> round(decode_time(140e9, 0, 8, 3.35e12, 80, 9.57e-6).total * 1e3, 3)
    6.755
    """
    memory = ranks * memory_bandwidth
    parts = weights / memory, kv_cache / memory, 2 * layers * all_reduce
    return DecodeTime(*parts, total=sum(parts))


def activation_bytes(batch: Num, sequence: Num, hidden: Num, value_bytes: Num = 2.0) -> Out:
    """Return the bytes of one activation: every token's hidden vector.

    Parameters
    ----------
    batch : float or array
        Sequences in one micro-batch.
    sequence : float or array
        Tokens in one sequence.
    hidden : float or array
        Hidden size of the model.
    value_bytes : float or array, default 2.0
        Bytes of one value: 4 for FP32, 2 for FP16 and BF16; bytes.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If batch or sequence or hidden is not a whole number of 1 or more; value_bytes is not above
        0; or a value is not finite.

    Formula: b s h d; definition.
    Lesson 06.

    >>> activation_bytes(1, 4096, 8192) / 2**20
    64.0
    """
    return batch * sequence * hidden * value_bytes


def zero_volume(message: Num, ranks: Num, stage: Num = 0) -> Out:
    """Return the bytes that each GPU sends per step with DDP or ZeRO.

    Parameters
    ----------
    message : float or array
        Size of all parameters as they are communicated, see parameter_bytes; bytes.
    ranks : float or array
        Ranks that take part.
    stage : float or array, default 0
        ZeRO stage; 0 is plain data parallel, 3 is FSDP.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; ranks is not a whole number of 1 or more; stage is not 0, 1, 2 or 3;
        or a value is not finite.

    Formula: 2 M (N - 1) / N for stages 0 to 2, 3 M (N - 1) / N for stage 3 or FSDP; Rajbhandari et
    al. 2020.
    Lesson 06.

    >>> zero_volume(15e9, 8, stage=3) / 1e9
    39.375
    """
    return (2 + (stage == 3)) * message * (ranks - 1) / ranks


def accumulation_volume(message: Num, ranks: Num, micro_steps: Num, stage: Num = 0,
                        no_sync: bool = True) -> Out:
    """Return the bytes that each GPU sends per optimizer step with gradient accumulation.

    Parameters
    ----------
    message : float or array
        Size of all parameters as they are communicated, see parameter_bytes; bytes.
    ranks : float or array
        Ranks that take part.
    micro_steps : float or array
        Micro-steps in one optimizer step.
    stage : float or array, default 0
        ZeRO stage; 0 is plain data parallel, 3 is FSDP.
    no_sync : bool, default True
        Whether only the last micro-step communicates.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; ranks or micro_steps is not a whole number of 1 or more; stage is
        not 0, 1, 2 or 3; or a value is not finite.

    Formula: one volume with no_sync, else G volumes; stage 3 gathers weights in every micro-step
    anyway (stas00/ml-engineering).
    Lesson 07.

    >>> accumulation_volume(15e9, 8, 8, no_sync=False) / 1e9
    210.0
    """
    times = 1 + (micro_steps - 1) * ((stage == 3) | (not no_sync))
    return times * zero_volume(message, ranks, stage)


def tensor_parallel_bytes(message: Num, ranks: Num, layers: Num = 1) -> Out:
    """Return the bytes that each GPU sends per step with tensor parallelism.

    Parameters
    ----------
    message : float or array
        Size of one activation, see activation_bytes; bytes.
    ranks : float or array
        Tensor-parallel GPUs.
    layers : float or array, default 1
        Layers of the model.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; ranks or layers is not a whole number of 1 or more; or a value is
        not finite.

    Formula: 4 L all-reduces of one activation, two forward and two backward; Shoeybi et al. 2019.
    Lesson 06.

    >>> round(tensor_parallel_bytes(2**26, 8) / 1e6, 3)
    469.762
    """
    return 8 * layers * (ranks - 1) / ranks * message


def tensor_parallel_time(message: Num, ranks: Num, bandwidth: Num, latency: Num = 0.0,
                         layers: Num = 1) -> Out:
    """Return the time of the all-reduces of tensor parallelism in one step.

    Parameters
    ----------
    message : float or array
        Size of one activation, see activation_bytes; bytes.
    ranks : float or array
        Tensor-parallel GPUs.
    bandwidth : float or array
        Bandwidth of one rank, one way; bytes/s.
    latency : float or array, default 0.0
        Latency of one step; s.
    layers : float or array, default 1
        Layers of the model.

    Returns
    -------
    float or array
        Seconds.

    Raises
    ------
    ValueError
        If message or latency is negative; ranks or layers is not a whole number of 1 or more;
        bandwidth is not above 0; or a value is not finite.

    Formula: 4 L ring all-reduces of one activation; Shoeybi et al. 2019.
    Lesson 06.

    >>> round(tensor_parallel_time(2**26, 8, 370e9) * 1e3, 4)
    1.2696
    """
    return 4 * layers * ring_all_reduce_time(message, ranks, bandwidth, latency)


def sequence_parallel_bytes(message: Num, ranks: Num, layers: Num = 1) -> Out:
    """Return the bytes that each GPU sends per step with sequence parallelism.

    Each all-reduce becomes a reduce-scatter and an all-gather; activations shrink to 1 / t.

    Parameters
    ----------
    message : float or array
        Size of one activation, see activation_bytes; bytes.
    ranks : float or array
        Tensor-parallel GPUs.
    layers : float or array, default 1
        Layers of the model.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; ranks or layers is not a whole number of 1 or more; or a value is
        not finite.

    Formula: 8 L halves of an all-reduce, 8 L (t - 1) / t M: as many as tensor parallelism;
    Korthikanti et al. 2022.
    Lesson 06.

    >>> round(sequence_parallel_bytes(2**26, 8) / 1e6, 3)
    469.762
    """
    return tensor_parallel_bytes(message, ranks, layers)


def expert_parallel_bytes(message: Num, top_k: Num, ranks: Num) -> Out:
    """Return the bytes that each GPU sends to dispatch, or to combine, its tokens.

    Parameters
    ----------
    message : float or array
        Size of one GPU's tokens, see activation_bytes; bytes.
    top_k : float or array
        Experts chosen for each token.
    ranks : float or array
        Expert-parallel GPUs.

    Returns
    -------
    float or array
        Bytes, one way.

    Raises
    ------
    ValueError
        If message is negative; top_k or ranks is not a whole number of 1 or more; or a value is not
        finite.

    Formula: k M (E - 1) / E for even routing; dispatch and combine once each, and both again
    backward.
    Lesson 06.

    >>> round(expert_parallel_bytes(4096 * 7168, 8, 64) / 1e6, 2)
    231.21
    """
    return top_k * message * (ranks - 1) / ranks


def kv_cache_bytes(layers: Num, kv_heads: Num, head_dim: Num, value_bytes: Num = 2.0) -> Out:
    """Return the bytes of the key-value cache of one token.

    Parameters
    ----------
    layers : float or array
        Layers of the model.
    kv_heads : float or array
        Key-value heads of a layer.
    head_dim : float or array
        Values in one head.
    value_bytes : float or array, default 2.0
        Bytes of one value: 4 for FP32, 2 for FP16 and BF16; bytes.

    Returns
    -------
    float or array
        Bytes.

    Raises
    ------
    ValueError
        If layers or kv_heads or head_dim is not a whole number of 1 or more; value_bytes is not
        above 0; or a value is not finite.

    Formula: 2 L n_kv d_h d, a key and a value per layer; Pope et al. 2022.
    Lesson 06.

    >>> kv_cache_bytes(80, 8, 128)
    327680.0
    """
    return 2 * layers * kv_heads * head_dim * value_bytes


guard(globals())  # from here on every formula checks its numbers first
