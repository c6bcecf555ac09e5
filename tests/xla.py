"""How JAX compiles in tests: each function for each number of rows, and to run once."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def flags() -> str:
    """Return the value of XLA_FLAGS with which compiling takes least."""
    chosen = ["--xla_backend_optimization_level=0"]
    try:
        jaxlib = version("jaxlib")
    except PackageNotFoundError:
        return chosen[0]
    # Without these emitters compiling takes two thirds of the time. XLA ends the process at
    # a flag that it does not know: only versions are given it that have been tried.
    if jaxlib.startswith("0.10."):
        chosen.append("--xla_cpu_use_fusion_emitters=false")
    return " ".join(chosen)
