"""How many random samples tests try: some in `make test`, more of them in `make fuzz`.

``CONDGOF_FUZZ=500`` tries 500 examples of each property, and more seeds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

#: Examples of each property that `make fuzz` asks for; 0 in `make test`.
ASKED = int(os.environ.get("CONDGOF_FUZZ", "0"))


def seeds(few: Sequence[int], *, fuzz: int) -> Sequence[int]:
    """Return `few` seeds; 0, 1, …, `fuzz` − 1 in `make fuzz`."""
    return range(fuzz) if ASKED else few


def examples(few: int) -> int:
    """Return how many examples Hypothesis tries: `few`, or as many as `make fuzz` asks."""
    return ASKED or few
