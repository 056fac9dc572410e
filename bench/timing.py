"""Timing on a GPU: several contenders in turn in one run, the L2 flushed before every sample.

A contender is a function that launches once. Samples are CUDA-event times; contenders are sampled in
shuffled order round by round, so that clocks and power weigh on all alike. Figures are medians in
microseconds.
"""
import random
import statistics

import torch

FLUSH_BYTES = 512 << 20  # several times the L2; long enough for the launches behind it to be queued


class Timer:
    def __init__(self, seed=1):
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self.random = random.Random(seed)

    def sample(self, contenders, rounds):
        """name -> list of microseconds."""
        names = list(contenders)
        events = {name: [] for name in names}
        for name in names:
            for _ in range(3):
                contenders[name]()
        for _ in range(rounds):
            self.random.shuffle(names)
            for name in names:
                start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                self.flush.zero_()
                start.record()
                contenders[name]()
                stop.record()
                events[name].append((start, stop))
        torch.cuda.synchronize()
        return {name: [a.elapsed_time(b) * 1e3 for a, b in pairs] for name, pairs in events.items()}

    def medians(self, contenders, seconds=0.05, least=15, most=200, first=5):
        """Median per contender, with as many rounds as fit `seconds` of its time; `first`: rounds that tell what one takes."""
        first = self.sample(contenders, first)
        one_round = sum(statistics.median(v) for v in first.values()) + 150.0 * len(first)
        rounds = max(least, min(most, int(seconds * 1e6 / one_round)))
        return {name: statistics.median(v) for name, v in self.sample(contenders, rounds).items()}


def geometric_mean(values):
    product = 1.0
    for value in values:
        product *= value ** (1.0 / len(values))
    return product
