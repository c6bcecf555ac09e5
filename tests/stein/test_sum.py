"""The one sum: against loops, over pieces, on threads, with rows left out."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from condgof.engine import as_engine
from condgof.residuals import ContinuousResiduals, NormalTestFunctions
from condgof.sample import Seed
from condgof.stein import (
    PIECE_ROWS,
    FeatureMap,
    Features,
    Panel,
    Piece,
    Plan,
    Unit,
    constant,
    even_cuts,
    gather,
    gather_units,
    span_pieces,
)


def make_plan():
    """Two panels that overlap, of blocks with two columns of x and with one."""
    features = Features(
        (
            FeatureMap("x", lambda x: x, labels=(0,), sizes=(2,)),
            constant(),
            FeatureMap.one_each("single", lambda x: x**2, range(2)),
        )
    )
    panels = (
        Panel(features=slice(0, 2), test_functions=slice(0, 3)),
        Panel(features=slice(1, 4), test_functions=slice(1, 8)),
    )
    return Plan(features, NormalTestFunctions.at_bandwidths((4.0, 1.0), 1), panels)


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    x = rng.normal(size=(n, 2))
    return Piece(x=x, residuals=ContinuousResiduals(u=z, scores=-z))


def first_score(residuals):
    """One number of each piece, where a test does not ask for the largest."""
    return residuals.u[:1, 0]


class Dense(NamedTuple):
    """F, ξ, and of each statistic its sum and its diagonal, block by block and by loops."""

    features: np.ndarray
    values: np.ndarray
    squares: np.ndarray
    diagonal: np.ndarray


def dense(plan, rows):
    f = plan.features.evaluate(rows.x).astype(float)
    xi = plan.test_functions.evaluate(rows.residuals).astype(float)
    squares = []
    diagonal = []
    for one in plan.statistics:
        some_f = f[:, one.features.columns]
        some_xi = xi[:, one.test_functions.columns]
        squares.append(np.square(some_f.T @ some_xi).sum())
        diagonal.append(
            sum(
                np.square(some_f[i]).sum() * np.square(some_xi[i]).sum()
                for i in range(len(f))
            )
        )
    return Dense(f, xi, np.array(squares), np.array(diagonal))


def test_squares_and_the_diagonal():
    plan = make_plan()
    rows = make_rows(50)
    expected = dense(plan, rows)
    features, xi = plan.hold(rows)
    sums = [(features[:, cut.x].T @ xi[:, cut.y])[None] for cut in plan.cuts]
    np.testing.assert_allclose(plan.squares(sums)[0], expected.squares, rtol=1e-4)
    for at_once in (1, 40, 10**6):
        by_parts = plan.squares_of_some(lambda p, some: sums[p][:, some], at_once)
        np.testing.assert_allclose(by_parts, plan.squares(sums), rtol=1e-6)
    feature_squares = plan.feature_squares(features)
    squares = plan.value_squares(xi)
    diagonal = plan.diagonal(feature_squares, squares)
    np.testing.assert_allclose(diagonal, expected.diagonal, rtol=1e-4)
    two_samples = np.stack([squares, squares], axis=1)
    np.testing.assert_allclose(
        plan.diagonal(feature_squares, two_samples),
        [expected.diagonal, expected.diagonal],
        rtol=1e-4,
    )


@pytest.mark.parametrize("n", [10, PIECE_ROWS + 3, 3 * PIECE_ROWS])
def test_a_pass_over_pieces(n):
    plan = make_plan()
    rows = make_rows(n)

    def five_largest(residuals):
        return np.sort(np.abs(residuals.u[:, 0]))[::-1][:5]

    totals = gather(plan, rows, n, five_largest, 5, Seed.of(0), as_engine(2))
    expected = dense(plan, rows)
    f = expected.features
    for total, cut in zip(totals.sums, plan.cuts, strict=True):
        product = f[:, cut.x].T @ expected.values[:, cut.y]
        size = np.sqrt(n) * (1 + np.abs(product).max() / np.sqrt(n))
        np.testing.assert_allclose(total, product, atol=1e-5 * size)
    (gram,) = totals.grams
    np.testing.assert_allclose(gram, f.T @ f, rtol=1e-4, atol=1e-3 * np.sqrt(n))
    np.testing.assert_array_equal(totals.largest, five_largest(rows.residuals))


def test_weights_of_rows_multiply_features():
    """Sums are Σ w F ξ, the diagonal Σ w²‖F‖²‖ξ‖², and the Gram matrix is FᵀW²F."""
    plan = make_plan()
    rows = make_rows(300)
    w = np.exp(np.random.default_rng(1).normal(size=300))
    weighted = replace(rows, weights=w)
    f, xi, _, _ = dense(plan, rows)
    totals = gather(plan, weighted, 300, first_score, 1, Seed.of(0), as_engine(1))
    np.testing.assert_allclose(
        totals.grams[0], (w[:, None] ** 2 * f).T @ f, rtol=1e-9, atol=1e-9
    )
    halves = [Unit(0, slice(0, 150)), Unit(1, slice(150, None))]
    units = gather_units(plan, weighted, lambda piece: halves, as_engine(1))
    for cut, total, by_unit in zip(plan.cuts, totals.sums, units.sums, strict=True):
        expected = np.einsum("i,ir,iq->rq", w, f[:, cut.x], xi[:, cut.y])
        np.testing.assert_allclose(total, expected, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(by_unit.sum(axis=0), expected, rtol=1e-4, atol=1e-3)
    diagonal = [
        sum(
            w[i] ** 2
            * np.square(f[i, one.features.columns]).sum()
            * np.square(xi[i, one.test_functions.columns]).sum()
            for i in range(300)
        )
        for one in plan.statistics
    ]
    np.testing.assert_allclose(units.diagonal.sum(axis=0), diagonal, rtol=1e-4)


def test_single_precision_keeps_a_millionth_of_a_null_standard_deviation():
    n = 50_000
    plan = make_plan()
    rows = make_rows(n)
    totals = gather(plan, rows, n, first_score, 1, Seed.of(0), as_engine(1))
    f = plan.features.evaluate(rows.x).astype(float)
    xi = plan.test_functions.evaluate(rows.residuals).astype(float)
    for total, cut in zip(totals.sums, plan.cuts, strict=True):
        x_squares = np.square(f[:, cut.x]).sum(axis=0)
        y_squares = np.square(xi[:, cut.y]).mean(axis=0)
        deviation = np.sqrt(x_squares[:, None] * y_squares)
        difference = total - f[:, cut.x].T @ xi[:, cut.y]
        assert np.abs(difference / deviation).max() < 2e-6


def test_the_same_bits_on_any_number_of_threads():
    plan = make_plan()
    rows = make_rows(5 * PIECE_ROWS)
    one, three = (
        gather(plan, rows, rows.total, first_score, 1, Seed.of(0), as_engine(threads))
        for threads in (1, 3)
    )
    for a, b in zip(one.sums, three.sums, strict=True):
        np.testing.assert_array_equal(a, b)


class EveryThirdLeftOut(Piece):
    """Rows of which every third counts for nothing."""

    def pieces(self):
        for piece in super().pieces():
            keep = np.arange(piece.start, piece.stop) % 3 != 0
            yield replace(piece, keep=keep)


def test_units_add_up_and_rows_left_out_count_for_nothing():
    plan = make_plan()
    rows = make_rows(PIECE_ROWS + 500)

    def seven_units(piece):
        unit_of = np.arange(piece.start, piece.stop) % 7
        return [Unit(unit, np.flatnonzero(unit_of == unit)) for unit in range(7)]

    units = gather_units(plan, rows, seven_units, as_engine(1))
    for sums, total in zip(units.sums, units.totals, strict=True):
        np.testing.assert_allclose(sums.sum(axis=0), total, rtol=1e-3, atol=1e-2)
    diagonal = dense(plan, rows).diagonal
    np.testing.assert_allclose(units.diagonal.sum(axis=0), diagonal, rtol=1e-3)
    assert units.counts.sum() == rows.total
    thinned = EveryThirdLeftOut(x=rows.x, residuals=rows.residuals)
    some = gather_units(plan, thinned, seven_units, as_engine(1))
    kept = np.flatnonzero(np.arange(rows.total) % 3 != 0)
    diagonal = dense(plan, rows.take(kept, 0)).diagonal
    np.testing.assert_allclose(some.diagonal.sum(axis=0), diagonal, rtol=1e-3)
    assert some.counts.sum() == len(kept)


@pytest.mark.parametrize("length", [400, 100, 150, 1])
def test_rows_with_a_minus_are_taken_off_their_unit_and_counted_in_the_totals(length):
    plan = make_plan()
    rows = make_rows(400)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 400)
    starts = np.arange(0, 400, length)

    def units_in_turn(piece):
        return [Unit(0, slice(None), length=length, signs=signs)]

    units = gather_units(plan, rows, units_in_turn, as_engine(1))
    parts = [rows.take(slice(start, start + length), start) for start in starts]
    diagonal = np.stack([dense(plan, part).diagonal for part in parts])
    np.testing.assert_allclose(units.diagonal, diagonal, rtol=1e-4, atol=1e-6)
    assert units.counts.tolist() == np.diff([*starts, 400]).tolist()
    f, xi = plan.hold(rows)
    for sums, total, cut in zip(units.sums, units.totals, plan.cuts, strict=True):
        product = f[:, cut.x].T @ xi[:, cut.y]
        np.testing.assert_allclose(total, product, rtol=1e-9, atol=1e-9)
        signed = (f[:, cut.x] * signs[:, None])[:, :, None] * xi[:, None, cut.y]
        expected = np.add.reduceat(signed, starts)
        np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-5)


def test_sums_in_single_precision_are_added_up_in_double(monkeypatch):
    plan = make_plan()
    rows = make_rows(5 * PIECE_ROWS + 17)

    def one_unit(piece):
        return [Unit(0, slice(None))]

    double = gather_units(plan, rows, one_unit, as_engine(1)).totals
    monkeypatch.setattr("condgof.stein._sum.SINGLE_PRECISION_FROM_ROWS", 0)
    single = gather_units(plan, rows, one_unit, as_engine(1)).totals
    f, xi = plan.hold(rows)
    for one, other, cut in zip(single, double, plan.cuts, strict=True):
        spread = np.sqrt(np.square(f[:, cut.x]).T @ np.square(xi[:, cut.y]))  # under signs
        # It is 5e-6 where whole pieces are added up in single precision.
        assert np.abs((one - other) / spread).max() < 2e-6


def test_cuts_of_rows():
    assert even_cuts(10, 4) == (0, 4, 8, 10)
    counts = [span_pieces(total) for total in (100_000, 10**7, 10**9)]
    assert counts == [1, 38, 64]


def test_units_of_several_resamples_are_sums_one_by_one():
    """Resampled values stand for ξ in the units, not in the totals."""
    plan = make_plan()
    rows = make_rows(50)
    rng = np.random.default_rng(1)
    values = rng.normal(size=(20, 3, plan.test_functions.width))
    units = [
        Unit(2, slice(30, 50), values=values),
        Unit(0, slice(0, 30), length=15),
    ]
    found = gather_units(plan, rows, lambda piece: units, as_engine(1))
    features = plan.features.evaluate(rows.x)[30:]
    for p, cut in enumerate(plan.cuts):
        expected = np.einsum("nr,ncq->crq", features[:, cut.x], values[:, :, cut.y])
        np.testing.assert_allclose(found.sums[p][2:], expected, rtol=1e-5, atol=1e-5)
    diagonal = plan.diagonal(plan.feature_squares(features), plan.value_squares(values))
    np.testing.assert_allclose(found.diagonal[2:], diagonal)
    np.testing.assert_array_equal(found.counts, [15, 15, 20, 20, 20])
