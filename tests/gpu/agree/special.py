"""Probes that need more than a thread's own operands."""
import matrix
import memory
import tensors
import transfers
import warp
import wgmma

# Why a row has no probe.
REASONS = {"trap": "ends the launch with an error", "brkpt": "ends the launch with an error"}
FAMILIES = warp.FAMILIES + memory.FAMILIES + matrix.FAMILIES + transfers.FAMILIES + tensors.FAMILIES + (wgmma.wgmma_probes,)
