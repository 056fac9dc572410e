"""Proton's part that needs nothing but events: which kernels and scopes took how long, with what launches say of their work.

    proton.start("name", hook="triton")         launches are measured, with flops and bytes of their launch_metadata
    with proton.scope("cublas", {"flops16": n}): a scope without such launches is measured itself
    proton.finalize()                           NAME.hatchet, which triton.profiler.viewer shows"""
from tilec.triton import _refused
from tilec.triton.profiler.session import activate, deactivate, enter_scope, exit_scope, finalize, profile, scope, start

__all__ = ["activate", "deactivate", "enter_scope", "exit_scope", "finalize", "profile", "scope", "start"]

_EVENTS = "kernels are measured by events: start, scope, profile, activate, deactivate and finalize are what there is"
DEFAULT_PROFILE_NAME = "proton"
__getattr__ = _refused.lookup("triton.profiler", {name: _EVENTS for name in (
    "state", "enter_state", "exit_state", "cpu_timed_scope", "metadata_state", "metric", "data", "context", "specs", "mode", "language",
    "const", "hooks", "flags")})
