"""A user's program: `make check` type-checks it, and its last two lines must be errors."""

import numpy as np

import condgof as cg

x = np.arange(9.0)
report: cg.Check = cg.check((x, x), x, x, rng=0)
result: cg.GofResult = cg.adaptive(cg.normal(mean=x, std=x), x, x)
p: float = result.pvalue
rejected: bool = report.rejected
words: list[str] = [one.words for one in report.slices]
cg.kcsd((x, x), object(), x)  # type: ignore[arg-type]  # no table
wrong: str = result.pvalue  # type: ignore[assignment]  # strict mypy refuses an ignore that is not needed
