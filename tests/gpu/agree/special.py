"""Probes that need more than a thread's own operands."""
import matrix
import memory
import warp
import wgmma

REASONS = {"trap": "ends the launch with an error", "brkpt": "ends the launch with an error"}


def special_probes(rows):
    yield from warp.warp_probes(rows)
    yield from memory.memory_probes(rows)
    yield from matrix.matrix_probes(rows)
    yield from wgmma.wgmma_probes(rows)
