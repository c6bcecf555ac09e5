"""The one sum: against loops, over pieces, on threads, with rows left out."""

from dataclasses import replace

import numpy as np
import pytest

from condgof.engine import as_engine
from condgof.sample import Seed
from condgof.stein._evidence import NormalEvidence
from condgof.stein._features import Features, Maker, ones
from condgof.stein._sum import PIECE, Panel, Piece, Plan, Unit, gather, gather_units


def make_plan():
    features = Features(
        (
            Maker("x", lambda x: x, (0,), (2,)),
            ones(),
            Maker.single("single", lambda x: x**2, range(2)),
        )
    )
    evidence = NormalEvidence.at((4.0, 1.0), 1)
    return Plan(
        features,
        evidence,
        (Panel(slice(0, 2), slice(0, 3)), Panel(slice(1, 4), slice(1, 8))),
    )


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    return Piece(rng.normal(size=(n, 2)), z, -z)


def dense(plan, rows):
    """Σ_i F_i ξ_i squared, and its diagonal, of each statistic, by its blocks."""
    f, xi = plan.features.of(rows.x).astype(float), plan.evidence.of(rows.y).astype(float)
    whole = [
        np.square(f[:, a.columns].T @ xi[:, b.columns]).sum() for a, b in plan.statistics
    ]
    own = [
        sum(
            np.square(f[i, a.columns]).sum() * np.square(xi[i, b.columns]).sum()
            for i in range(len(f))
        )
        for a, b in plan.statistics
    ]
    return np.array(whole), np.array(own)


def test_squares_and_the_diagonal():
    plan, rows = make_plan(), sample(50)
    whole, own = dense(plan, rows)
    features, xi = plan.held(rows)
    sums = [(features[:, cut.x].T @ xi[:, cut.y])[None] for cut in plan.cuts]
    np.testing.assert_allclose(plan.squares(sums)[0], whole, rtol=1e-4)
    squares = plan.evidence_squares(xi)
    np.testing.assert_allclose(plan.own(plan.sizes(features), squares), own, rtol=1e-4)
    twice = np.stack([squares, squares], axis=1)
    np.testing.assert_allclose(plan.own(plan.sizes(features), twice), [own, own], rtol=1e-4)


@pytest.mark.parametrize("n", [10, PIECE + 3, 3 * PIECE])
def test_a_pass_over_pieces(n):
    plan, rows = make_plan(), sample(n)
    found = gather(
        plan,
        rows,
        n,
        lambda z: np.sort(np.abs(z[:, 0]))[::-1][:5],
        5,
        Seed.of(0),
        as_engine(2),
    )
    f, xi = plan.features.of(rows.x).astype(float), plan.evidence.of(rows.y).astype(float)
    for total, cut in zip(found[0], plan.cuts, strict=True):
        wanted = f[:, cut.x].T @ xi[:, cut.y]
        np.testing.assert_allclose(
            total, wanted, atol=1e-5 * np.sqrt(n) * (1 + np.abs(wanted).max() / np.sqrt(n))
        )
    np.testing.assert_allclose(found[1], f.T @ f, rtol=1e-4, atol=1e-3 * np.sqrt(n))
    np.testing.assert_array_equal(found[2], np.sort(np.abs(rows.y[:, 0]))[::-1][:5])


def test_single_precision_keeps_a_millionth_of_a_null_standard_deviation():
    plan, rows, n = make_plan(), sample(50_000), 50_000
    found = gather(plan, rows, n, lambda z: z[:1, 0], 1, Seed.of(0), as_engine(1))
    f, xi = plan.features.of(rows.x).astype(float), plan.evidence.of(rows.y).astype(float)
    for total, cut in zip(found[0], plan.cuts, strict=True):
        wanted = f[:, cut.x].T @ xi[:, cut.y]
        deviation = np.sqrt(
            np.square(f[:, cut.x]).sum(axis=0)[:, None]
            * np.square(xi[:, cut.y]).mean(axis=0)
        )
        assert np.abs((total - wanted) / deviation).max() < 2e-6


def test_the_same_bits_on_any_number_of_threads():
    plan, rows = make_plan(), sample(5 * PIECE)
    made = [
        gather(plan, rows, rows.total, lambda z: z[:1, 0], 1, Seed.of(0), as_engine(k))
        for k in (1, 3)
    ]
    for one, other in zip(made[0][0], made[1][0], strict=True):
        np.testing.assert_array_equal(one, other)


class LeftOut(Piece):
    """Rows of which every third counts for nothing."""

    def pieces(self):
        for piece in super().pieces():
            keep = np.arange(piece.start, piece.stop) % 3 != 0
            yield replace(piece, keep=keep)


def test_units_add_up_and_rows_left_out_count_for_nothing():
    plan, rows = make_plan(), sample(PIECE + 500)

    def units_of(piece):
        of = np.arange(piece.start, piece.stop) % 7
        return [Unit(unit, np.flatnonzero(of == unit)) for unit in range(7)]

    units = gather_units(plan, rows, units_of, as_engine(1))
    for sums, total in zip(units.sums, units.totals, strict=True):
        np.testing.assert_allclose(sums.sum(axis=0), total, rtol=1e-3, atol=1e-2)
    own = dense(plan, sample(PIECE + 500))[1]
    np.testing.assert_allclose(units.own.sum(axis=0), own, rtol=1e-3)
    assert units.counts.sum() == rows.total
    some = gather_units(plan, LeftOut(rows.x, rows.y, rows.scores), units_of, as_engine(1))
    kept = np.arange(rows.total) % 3 != 0
    few = Piece(rows.x[kept], rows.y[kept], rows.scores[kept])
    np.testing.assert_allclose(some.own.sum(axis=0), dense(plan, few)[1], rtol=1e-3)
    assert some.counts.sum() == kept.sum()


@pytest.mark.parametrize("length", [400, 100, 150, 1])
def test_rows_with_a_minus_are_taken_off_their_unit_and_counted_in_the_totals(length):
    plan, rows = make_plan(), sample(400)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 400)
    starts = np.arange(0, 400, length)
    units = gather_units(
        plan, rows, lambda _: [Unit(0, slice(None), length, signs)], as_engine(1)
    )
    f, xi = plan.features.of(rows.x), plan.evidence.of(rows.y)
    own = np.stack([dense(plan, rows.take(slice(i, i + length), i))[1] for i in starts])
    np.testing.assert_allclose(units.own, own, rtol=1e-4, atol=1e-6)
    assert units.counts.tolist() == np.diff([*starts, 400]).tolist()
    for sums, total, cut in zip(units.sums, units.totals, plan.cuts, strict=True):
        np.testing.assert_allclose(
            total, f[:, cut.x].T @ xi[:, cut.y], rtol=1e-9, atol=1e-9
        )
        signed = (f[:, cut.x] * signs[:, None])[:, :, None] * xi[:, None, cut.y]
        np.testing.assert_allclose(
            sums, np.add.reduceat(signed, starts), rtol=1e-5, atol=1e-5
        )


def test_sums_in_single_precision_are_added_up_in_double(monkeypatch):
    plan, rows = make_plan(), sample(5 * PIECE + 17)

    def units_of(piece):
        return [Unit(0, slice(None))]

    double = gather_units(plan, rows, units_of, as_engine(1)).totals
    monkeypatch.setattr("condgof.stein._sum.MANY", 0)
    single = gather_units(plan, rows, units_of, as_engine(1)).totals
    f, xi = plan.features.of(rows.x), plan.evidence.of(rows.y)
    for one, other, cut in zip(single, double, plan.cuts, strict=True):
        spread = np.sqrt(np.square(f[:, cut.x]).T @ np.square(xi[:, cut.y]))  # under signs
        assert (
            np.abs((one - other) / spread).max() < 2e-6
        )  # 5e-6 where whole pieces are added in singles
