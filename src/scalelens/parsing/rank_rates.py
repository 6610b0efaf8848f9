"""Whether a printed rate is of one rank, where the log does not say so."""

TOLERANCE = 0.02  # of the work: the rate and the time stamps are of two clocks


def is_of_one_rank(rate: float, epoch_s: float, counted: float, batch: float, local_batch: float) -> bool:
    """Whether `rate` is of one of many ranks: what it makes in an epoch is what one rank is given.

    `rate` is in samples per second, `epoch_s` in seconds, both batches are in samples.  `counted` is what the log calls
    the samples of an epoch.  NVIDIA's RetinaNet (SSD) of MLPerf v3 writes the length of each rank's loader there: 4,572
    batches of 32 on each of eight ranks for 1.17 million images.  Its later versions print the rate of the job.
    A count below the global batch cannot be of samples.
    """
    work = rate * epoch_s
    if local_batch >= batch or abs(work - counted * local_batch) > TOLERANCE * work:
        return False
    return counted < batch or abs(work - counted) > TOLERANCE * work
