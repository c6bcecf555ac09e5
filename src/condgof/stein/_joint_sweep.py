"""Row sums of several Stein matrices over the same rows, and how far each pair of them is apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.stein._operator import SteinOperator
from condgof.stein._sweep import DEFAULT_MEMORY, check_overflow, plan


@dataclass(frozen=True, eq=False)
class JointSums:
    """What a sweep over K matrices gives.

    Parameters
    ----------
    rows : ndarray of shape (K, n)
        Σ_{j≠i} H^a_ij.
    squares : ndarray of shape (K,)
        Σ_{i≠j} (H^a_ij)².
    apart : ndarray of shape (P,)
        Σ_{i≠j} (H^a_ij − H^b_ij)² for the pairs a < b. Not from products of sums: two models that
        are nearly the same differ by less than what those would round off.
    """

    rows: FloatArray
    squares: FloatArray
    apart: FloatArray


def joint_sweep(
    operators: Sequence[SteinOperator],
    *,
    engine: Engine,
    memory: int = DEFAULT_MEMORY,
    tile: int | None = None,
) -> JointSums:
    """Visit the upper half of K Stein matrices of the same rows, tile by tile.

    Parameters
    ----------
    operators : sequence of SteinOperator
        The matrices, (n, n) each.
    engine : Engine
        Where the work runs.
    memory : int
        Budget in bytes.
    tile : int, optional
        Rows of a tile; chosen by `plan` unless given.
    """
    n, count = operators[0].n, len(operators)
    cut = plan(n, 1, max(memory // (count + 1), 1))
    size = tile or cut.tile
    task = _strip(operators, size)
    pairs = len(list(combinations(range(count), 2)))
    rows, squares, apart = np.zeros((count, n)), np.zeros(count), np.zeros(pairs)
    starts = range(0, n, size)
    for start, part in zip(starts, engine.map(task, starts, most=cut.threads), strict=True):
        rows[:, start:] += part.rows
        squares += part.squares
        apart += part.apart
    check_overflow(rows, squares)
    return JointSums(rows, squares, apart)


def _strip(operators: Sequence[SteinOperator], size: int) -> Callable[[int], JointSums]:
    """Return the task for a strip of rows, from the diagonal to the right."""
    n, pairs = operators[0].n, list(combinations(range(len(operators)), 2))

    def task(start: int) -> JointSums:
        stop = min(start + size, n)
        rows = np.zeros((len(operators), n - start))
        squares, apart = np.zeros(len(operators)), np.zeros(len(pairs))
        with np.errstate(over="ignore", invalid="ignore"):  # sums are checked at the end
            for left in range(start, n, size):
                right = min(left + size, n)
                blocks = [o.block(slice(start, stop), slice(left, right)) for o in operators]
                own = left == start
                for a, block in enumerate(blocks):
                    if own:
                        np.fill_diagonal(block, 0.0)
                    rows[a, : stop - start] += block.sum(axis=1)
                    if not own:  # its mirror image
                        rows[a, left - start : right - start] += block.sum(axis=0)
                    squares[a] += (1.0 if own else 2.0) * float(np.vdot(block, block))
                for k, (a, b) in enumerate(pairs):
                    difference = blocks[a] - blocks[b]
                    apart[k] += (1.0 if own else 2.0) * float(np.vdot(difference, difference))
        return JointSums(rows, squares, apart)

    return task
