"""`check` of a discrete y: classes, ordered classes and counts."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, nbinom, norm, poisson

import condgof as cg
from condgof.kernels import Gaussian
from condgof.laws._counts import POSITIONS
from condgof.locate._classes import ClassRows
from condgof.locate._counted import CountRows, _ranges
from condgof.locate._effect_discrete import PROBABILITY, distances
from condgof.locate._power import first_to_next, mean_residuals, shifted_law, wider_law
from condgof.locate._scatter import Scatter

FAST = {"n_boot": 100, "engine": 1}
N = 400
LETTERS = np.array(["a", "b", "c"])


def softmax(logits):
    values = np.exp(logits - logits.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


def draw(p, rng):
    return np.minimum((rng.random((len(p), 1)) >= np.cumsum(p, axis=1)).sum(axis=1), p.shape[1] - 1)


def classes_sample(seed=0, temperature=1.0, n=N):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    logits = x @ np.random.default_rng(3).standard_normal((2, 3))
    return softmax(logits / temperature), x, LETTERS[draw(softmax(logits), rng)]


@pytest.fixture(scope="module")
def over():
    p, x, y = classes_sample(temperature=0.4)
    frame = pd.DataFrame(x, columns=["weight", "age"])
    options = {"scale_x": "std", "rng": 1, **FAST}
    return cg.check(cg.probabilities(p, LETTERS), frame, pd.Series(y, name="animal"), **options)


def test_an_over_confident_softmax_is_said_to_be_too_sure(over):
    assert over.rejects
    named = [f for place in over.locations if place.named for f in place.findings if f.named]
    assert any(f.kind == "confidence" and "the model is too sure" in f.words for f in named)
    for finding in named:
        low, high = finding.interval.low, finding.interval.high
        assert not low <= finding.expected <= high
        assert 0.0 <= low <= finding.interval.estimate <= high <= 1.0
    assert over.effect.unit == PROBABILITY
    assert over.effect.words.startswith("as large as a probability of 0.")
    assert over.effect.interval.low > 0.0
    assert over.detectable.shift is None
    assert 0.0 < over.detectable.probability < over.effect.interval.high


def test_findings_are_means_of_the_rows_near(over):
    """The numbers are those of a plain weighted mean, from what the record says of the place."""
    p, x, y = classes_sample(temperature=0.4)
    place = over.locations[0]
    weight = np.ones(N)
    for i, name in enumerate(("weight", "age")):
        if name in place.half_width:
            weight *= 0.5 ** np.square((x[:, i] - place.x[i]) / place.half_width[name])
    # Half of the rows tested it, drawn at random: all rows together are about as good.
    for finding in place.findings:
        if finding.kind == "class":
            k = LETTERS.tolist().index(finding.label)
            assert finding.expected == pytest.approx(weight @ p[:, k] / weight.sum(), abs=0.05)
            assert finding.interval.estimate == pytest.approx(
                weight @ (y == finding.label) / weight.sum(), abs=0.1
            )


def test_panels_of_classes(over):
    panel = over.locations[0].panel
    assert (panel.kind, panel.columns, panel.labels) == ("classes", ("animal",), ("a", "b", "c"))
    assert panel.observed.sum() == pytest.approx(1.0)
    assert panel.predicted.sum() == pytest.approx(1.0)
    whole = over.landscape.overall
    p, _, y = classes_sample(temperature=0.4)
    np.testing.assert_allclose(whole.predicted, p.mean(axis=0))
    np.testing.assert_allclose(whole.observed, [(y == letter).mean() for letter in LETTERS])
    assert over.landscape.residuals is None
    json.dumps(over.to_dict(), allow_nan=False)


def test_the_verdict_is_that_of_adaptive():
    p, x, y = classes_sample(temperature=0.4)
    model = cg.probabilities(p, LETTERS)
    found = cg.check(model, x, y, rng=1, **FAST)
    assert found.result.pvalue == cg.adaptive(model, x, y, rng=1, **FAST).pvalue


def test_two_classes_are_told_by_one():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, N)
    p = 1 / (1 + np.exp(-x))
    y = rng.random(N) < np.where(x > 1, 0.3, p)
    found = cg.check(cg.probabilities(p, ["no", "yes"]), x, np.where(y, "yes", "no"), rng=0, **FAST)
    top = found.locations[0]
    assert top.named
    assert top.x[0] > 0.7
    assert [f.label for f in top.findings if f.kind == "class"] == ["yes"]
    assert "class 'yes' comes less often than the model says: observed 0." in top.words


def test_ordered_classes_have_a_shift():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(N)
    cuts = np.array([-1.0, 0.0, 1.0])

    def predicted(move):
        below = 1 / (1 + np.exp(-(cuts - x[:, None] - move)))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    y = draw(predicted(1.5), rng)
    found = cg.check(cg.probabilities(predicted(0.0), ordered=True), x, y, rng=0, **FAST)
    shift = next(f for f in found.locations[0].findings if f.kind == "shift")
    assert shift.named
    assert shift.interval.estimate > 0.3
    assert "the model is too low" in shift.words


def test_a_fitted_classifier_and_few_rows():
    from sklearn.linear_model import LogisticRegression

    _, x, y = classes_sample(n=5000)  # with few rows the error of the fit itself is found
    fitted = LogisticRegression(C=np.inf).fit(x, y)
    _, x, y = classes_sample(seed=5)
    found = cg.check(fitted, x, y, rng=0, **FAST)
    assert not found.rejects
    assert found.landscape.overall.labels == ("a", "b", "c")
    assert "would have been found with probability 0.8" in found.words
    few = cg.check(fitted, x[:20], y[:20], rng=0, **FAST)
    assert few.locations == ()
    assert any("too few to tell where" in note for note in few.details["notes"])


def test_a_model_that_is_certain_and_right_names_nothing():
    x = np.random.default_rng(0).standard_normal((300, 2))
    p = softmax(400.0 * np.column_stack([x[:, 0], -x[:, 0]]))
    y = (x[:, 0] < 0).astype(int)
    for options in ({}, {"groups": np.arange(300) // 10}, {"dependence": 5}):
        found = cg.check(cg.probabilities(p), x, y, rng=0, **FAST, **options)
        assert not found.rejects
        assert min(place.pvalue for place in found.locations) > 0.05


def test_many_classes_are_bounded():
    rng = np.random.default_rng(0)
    x, p = rng.standard_normal((300, 2)), rng.dirichlet(np.ones(60), 300)
    found = cg.check(cg.probabilities(p), x, draw(p, rng), rng=0, **FAST)
    panel = found.landscape.overall
    assert len(panel.labels) == 12
    assert panel.labels[-1] == "49 others"
    assert panel.observed.sum() == pytest.approx(1.0)
    assert all(len(place.findings) <= 8 for place in found.locations)


def mean_of(x):
    return 3.0 * np.exp(0.4 * x[:, 0])


def counts_sample(dispersion=1.0, seed=0, n=N):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    mean = mean_of(x)
    if dispersion > 1:
        mean = rng.gamma(mean / (dispersion - 1), dispersion - 1)
    return x, rng.poisson(mean)


MODELS = {
    "functional": lambda x: cg.models.Poisson(mean=mean_of),
    "bound": lambda x: cg.models.Poisson(mean=mean_of(x)),
    "ratios": lambda x: cg.from_ratio(lambda y, x: mean_of(x) / (y + 1)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_over_dispersed_counts(kind):
    x, y = counts_sample(2.5)
    found = cg.check(MODELS[kind](x), x, y, rng=0, **FAST)
    assert found.rejects
    width = next(f for f in found.locations[0].findings if f.kind == "width")
    assert width.named
    assert width.interval.low < np.sqrt(2.5) < width.interval.high
    assert "counts are over-dispersed, they spread 1." in width.words
    assert "dispersion 2." in width.words
    assert found.effect.unit.startswith("model standard deviations")
    assert "0" in {f.label for f in found.locations[0].findings if f.kind == "class"}
    assert found.landscape.overall.labels[:3] == ("0", "1", "2")
    assert found.landscape.residuals.std() == pytest.approx(np.sqrt(2.5), rel=0.2)
    found.to_html()


def test_functional_and_bound_counts_are_the_same():
    x, y = counts_sample(2.5)
    one, other = (
        cg.check(MODELS[kind](x), x, y, rng=0, **FAST).to_dict() for kind in ("functional", "bound")
    )
    assert json.dumps(one) == json.dumps(other)


@pytest.mark.parametrize(
    "model",
    [
        cg.models.NegativeBinomial(mean=mean_of, dispersion=0.5),
        cg.models.Binomial(trials=20, p=lambda x: 1 / (1 + np.exp(-x[:, 0]))),
    ],
)
def test_counts_of_other_families(model):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 2))
    y = model(x).sample(rng)[:, 0]
    found = cg.check(model, x, y, rng=0, **FAST)
    assert not found.rejects
    assert found.effect.interval.low == 0.0
    assert found.detectable.shift < 0.5
    moved = cg.check(model, x, np.minimum(y + 3.0 * (x[:, 0] > 0.8), 20.0), rng=0, **FAST)
    shift = next(f for f in moved.locations[0].findings if f.kind == "shift")
    assert shift.named
    assert "the model is too low" in shift.words


def test_rare_counts_are_not_said_to_be_too_wide():
    """No count but 0 was observed, as was to be expected."""
    x = np.random.default_rng(0).standard_normal(N)
    mean = np.full(N, 1e-4) * np.exp(0.3 * x)
    found = cg.check(cg.models.Poisson(mean=mean), x, np.zeros(N), rng=0, **FAST)
    assert not found.rejects
    for place in found.locations:
        for finding in place.findings:
            assert finding.interval.low <= finding.expected <= finding.interval.high


def test_a_distribution_without_a_variance_has_bars_and_zeros():
    from scipy.stats import zipf

    rng = np.random.default_rng(0)
    x = rng.standard_normal(N)
    y = zipf(2.1).rvs(N, random_state=1)
    y[x > 0] = rng.poisson(3.0, int((x > 0).sum())) + 1
    found = cg.check(zipf(2.1), x, y, rng=0, **FAST)
    assert found.rejects
    assert {f.kind for p in found.locations for f in p.findings} <= {"class"}
    assert found.landscape.residuals is None
    assert found.locations[0].panel.kind == "classes"


def test_very_large_counts_of_ratios():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, 200)
    model = cg.from_ratio(lambda y, x: 1e6 * x / (y + 1))
    found = cg.check(model, x, rng.poisson(1.002e6 * x), rng=0, **FAST)
    assert found.rejects
    assert found.effect.interval.estimate == pytest.approx(2.45, rel=0.3)  # 0.002·√(1.5e6)
    assert found.detectable.shift is None
    assert "is not known" in found.detectable.words
    found.to_html()


def test_groups_of_rows_with_one_class():
    p, x, y = classes_sample()
    by = np.where(y == "a", "only a", "others")
    found = cg.check_groups(cg.probabilities(p, LETTERS), x, y, by=by, rng=0, **FAST)
    assert found.rejected == ("only a", "others")
    assert found["only a"].rejects


# The parts, against slow and obvious versions


def test_scatter_is_the_double_sum():
    rng = np.random.default_rng(0)
    v = rng.standard_normal(40)
    codes = rng.integers(0, 7, 40)
    assert Scatter(codes=codes).square(v) == pytest.approx(v @ (codes[:, None] == codes) @ v)
    places = np.sort(rng.choice(100, 40, replace=False))
    near = (1 - 1 / 6.0) ** np.abs(np.subtract.outer(places, places))
    assert Scatter(places=places, length=6.0).square(v) == pytest.approx(v @ near @ v)
    some = np.flatnonzero(rng.random(40) < 0.5)
    taken = Scatter(places=places, length=6.0).take(some)
    assert taken.square(v[some]) == pytest.approx(v[some] @ near[np.ix_(some, some)] @ v[some])


def test_distances_of_shifted_counts():
    p = np.diff(norm.cdf(np.append(POSITIONS - 0.0625, 8.0625)))
    shifts = np.array([0.0, 0.3, 1.0])
    # Of two normals, in closed form: 2·σ/√(σ² + 2)·(1 − exp(−δ²/(2(σ² + 2)))).
    expected = 2 / np.sqrt(3) * (1 - np.exp(-(shifts**2) / 6))
    np.testing.assert_allclose(distances(p / p.sum(), POSITIONS, shifts), expected, rtol=5e-3)


def test_tilted_laws_of_counts_are_those_of_their_family():
    """A shifted Poisson law is a Poisson law, and a wider one about a negative binomial one."""
    at, mean = np.arange(80.0), np.array([1.0, 3.0, 12.0])
    p = poisson.pmf(at, mean[:, None])
    np.testing.assert_allclose(
        shifted_law(p, at, 0.3), poisson.pmf(at, (mean + 0.3 * np.sqrt(mean))[:, None]), atol=2e-4
    )
    wide = wider_law(p, at, 0.5)
    np.testing.assert_allclose(wide @ at, mean, rtol=2e-3)
    np.testing.assert_allclose(wide @ at**2 - (wide @ at) ** 2, 1.5 * mean, rtol=2e-2)
    np.testing.assert_allclose(wide, nbinom.pmf(at, (mean / 0.5)[:, None], 1 / 1.5), atol=2e-2)


def test_what_probabilities_do_to_residuals_are_sums_over_cells():
    x, rng = np.linspace(0, 1, 6), np.random.default_rng(0)
    ratios = (
        cg.from_ratio(lambda y, x: (1 + x) / (y + 1))(x).residuals(np.arange(6) % 3, "full").outcomes
    )
    p = rng.dirichlet(np.ones(4), 6)
    classes = cg.probabilities(p).residuals(np.zeros(6, dtype=int), "full").outcomes
    plain = cg.probabilities(p).residuals(np.zeros(6, dtype=int), "plain").outcomes
    for law in (ratios, classes, plain):
        q = law.probabilities
        for moved in (0.1 * first_to_next(q), rng.dirichlet(np.ones(q.shape[1]), 6) - q):
            slow = sum(moved[:, [i]] * np.asarray(law.of(np.full(6, i))) for i in range(q.shape[1]))
            np.testing.assert_allclose(mean_residuals(law, moved), slow, atol=1e-12)


def seen_again(model, x, misfit, trials, seed=4):
    """How many of some samples of a misfit are rejected."""
    found = 0
    for trial in range(trials):
        y = misfit(np.random.default_rng([trial, seed]))
        found += cg.adaptive(model, x, y, rng=trial, n_boot=99, engine=1).reject()
    return found


def test_what_could_have_been_seen_of_two_classes_is_seen():
    """30 samples with what is found with probability 0.8: exact bounds for 0.65 to 0.95."""
    rng, n = np.random.default_rng(0), 150
    x = rng.standard_normal((n, 2))
    p = softmax(2.0 * np.column_stack([x[:, 0], -x[:, 0]]))
    model = cg.probabilities(p)
    size = cg.check(model, x, draw(p, rng), rng=0, n_locations=0, **FAST).detectable.probability
    moved = p + size * first_to_next(p)
    found = seen_again(model, x, lambda rng: draw(moved, rng), 30)
    assert binom.ppf(1e-4, 30, 0.65) <= found <= binom.isf(1e-4, 30, 0.95)


def test_what_could_have_been_seen_of_a_model_that_is_nearly_certain_is_seen():
    """What tells are single events: at least as many as make it likely that there are some."""
    rng, n = np.random.default_rng(0), 400
    x = rng.standard_normal((n, 2))
    p = np.tile([1.0 - 1e-4, 1e-4], (n, 1))
    model = cg.probabilities(p)
    size = cg.check(
        model, x, np.zeros(n, dtype=int), rng=0, n_locations=0, **FAST
    ).detectable.probability
    assert size > 1.3 / n
    moved = p + size * first_to_next(p)
    found = seen_again(model, x, lambda rng: draw(moved, rng), 30)
    assert binom.ppf(1e-4, 30, 0.6) <= found <= binom.isf(1e-4, 30, 0.95)


@pytest.mark.parametrize("what", ["shift", "width"])
def test_what_could_have_been_seen_of_counts_is_seen(what):
    rng, n = np.random.default_rng(0), 150
    x = rng.standard_normal((n, 2))
    mean = mean_of(x)
    model = cg.models.Poisson(mean=mean)
    size = getattr(cg.check(model, x, rng.poisson(mean), rng=0, n_locations=0, **FAST).detectable, what)

    def misfit(rng):
        if what == "shift":
            return rng.poisson(mean + size * np.sqrt(mean))
        return rng.poisson(rng.gamma(mean / (size**2 - 1.0), size**2 - 1.0))

    found = seen_again(model, x, misfit, 30)
    assert binom.ppf(1e-4, 30, 0.6) <= found <= binom.isf(1e-4, 30, 0.97)


def test_labels_alone_do_not_tell_what_could_have_been_seen():
    p, x, y = classes_sample(n=100)
    found = cg.check(
        cg.probabilities(p, LETTERS), x, y, standardize="none", rng=0, n_locations=0, **FAST
    )
    assert "is not known where classes are compared by their labels alone" in found.detectable.words


def test_class_estimates_by_hand():
    rng = np.random.default_rng(0)
    p, w = rng.dirichlet(np.ones(3), 50), rng.random(50)
    codes = rng.integers(0, 3, 50)
    view = ClassRows(("a", "b", "c"), p, codes, np.arange(50), "y", False)
    found, count = view.estimates(np.arange(50), w, Scatter())
    assert count == 4
    share = w / w.sum()
    for one in found:
        if one.kind != "class":
            continue
        k = "abc".index(one.label)
        r = (codes == k) - p[:, k]
        assert one.value == pytest.approx(share @ r)
        effective = 1 / (share @ share)
        seen = np.sqrt(effective / (effective - 1) * np.square(share * (r - share @ r)).sum())
        model = np.sqrt(share**2 @ (p[:, k] * (1 - p[:, k])))
        assert one.error == pytest.approx(max(seen, model))
    top = p.argmax(axis=1)
    sure = next(one for one in found if one.kind == "confidence")
    assert sure.back(0.0) == pytest.approx(share @ p.max(axis=1))
    assert sure.value == pytest.approx(share @ ((codes == top) - p.max(axis=1)))


def test_bars_of_counts_sum_to_one_and_have_names():
    y = np.array([0.0, 1, 1, 2, 3, 9])
    mean, std = np.full(6, 2.0), np.full(6, np.sqrt(2.0))
    poisson = cg.models.Poisson(mean=2.0)

    def below(rows, counts):
        return poisson(n=len(rows)).cdf_grid(counts)

    view = CountRows(y, mean, std, below, None, np.arange(6), "y")
    bars = view.bars(np.arange(6), np.ones(6))
    assert bars.labels[:3] == ("0", "1", "2")
    assert bars.labels[-1].endswith("+")
    assert bars.observed.sum() == pytest.approx(1.0)
    assert bars.predicted.sum() == pytest.approx(1.0)
    assert bars.predicted[1] == pytest.approx(2 * np.exp(-2))
    assert bars.observed[1] == pytest.approx(1 / 3)
    ends, labels = _ranges(np.arange(900.0, 1100.0), 900.0, 1100.0)
    assert len(labels) <= 16
    assert labels[0].startswith("≤")
    assert len(ends) == len(labels) - 1
    assert labels[1] == f"{ends[0] + 1:.0f}–{ends[1]:.0f}"


def test_the_effect_of_classes_is_that_of_the_double_sum():
    p, x, y = classes_sample(temperature=0.4, n=120)
    found = cg.check(cg.probabilities(p, LETTERS), x, y, scale_x="std", rng=1, n_locations=0, **FAST)
    z = x / x.std(axis=0, ddof=1)
    bandwidth = 0.5 * max(s["bandwidth_x"] for s in found.result.details["scales"])
    k = Gaussian(bandwidth)(z, z)
    r = (y[:, None] == LETTERS) - p
    off = ~np.eye(120, dtype=bool)
    d = (k * (r @ r.T))[off].mean()
    assert found.effect.discrepancy.estimate == pytest.approx(d, rel=1e-9)
    assert found.effect.interval.estimate == pytest.approx(np.sqrt(d / (2 * k[off].mean())), rel=1e-9)


def test_a_constant_misfit_of_classes_has_its_size():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2000, 1))
    p = np.tile([0.5, 0.3, 0.2], (2000, 1))
    y = draw(p + np.array([[-0.15, 0.15, 0.0]]), rng)
    found = cg.check(cg.probabilities(p), x, y, rng=0, n_locations=0, n_boot=20, engine=1)
    assert found.effect.interval.low < 0.15 < found.effect.interval.high
    assert found.effect.interval.estimate == pytest.approx(0.15, abs=0.03)


def test_a_shift_of_counts_has_its_size():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 2))
    mean = 30.0 * mean_of(x)
    y = rng.poisson(mean)
    low = mean + 0.5 - 0.5 * np.sqrt(4 * mean + 1)  # mean = low + √low
    found = cg.check(cg.models.Poisson(mean=low), x, y, rng=0, n_locations=0, n_boot=20, engine=1)
    assert found.effect.interval.estimate == pytest.approx(1.0, abs=0.1)


# Level: a small version of `make calibrate ONLY=check.discrete`


def test_true_models_name_places_no_more_often_than_they_may():
    trials, named, found = 20, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([trial, 4])
        x = rng.standard_normal((120, 2))
        p = softmax(6.0 * x @ np.random.default_rng(3).standard_normal((2, 3)))
        check = cg.check(cg.probabilities(p), x, draw(p, rng), rng=trial, n_boot=39, engine=1)
        named += any(place.named for place in check.locations)
        found += min((place.pvalue for place in check.locations), default=1.0) <= 0.05
    most = binom.isf(1e-4, trials, 0.05)
    assert named <= most
    assert found <= most


# Rows that depend on each other


def clustered(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(20), 20)
    x = rng.standard_normal(N)
    shared = rng.standard_normal(20)[codes]
    return x, np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.standard_normal(N), codes


def test_groups_widen_intervals_and_are_never_cut():
    x, noise, codes = clustered(0)
    model = (x, np.ones(N))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        plain = cg.check(model, x, x + noise + 1.0, rng=0, **FAST)
    found = cg.check(model, x, x + noise + 1.0, groups=codes, rng=0, **FAST)
    assert found.result.details["groups"] == 20
    assert found.details["choosing_rows"] % 20 == 0
    assert found.details["testing_rows"] % 20 == 0
    assert found.details["choosing_rows"] + found.details["testing_rows"] == N

    def width(check):
        shift = next(f for f in check.locations[0].findings if f.kind == "shift")
        return shift.interval.high - shift.interval.low

    assert width(found) > 1.3 * width(plain)
    size, wide = plain.effect.interval, found.effect.interval
    assert wide.high - wide.low > 1.3 * (size.high - size.low)
    assert any("as if rows were independent" in note for note in found.details["notes"])
    assert "groups=groups" in found.to_html()


def test_blocks_choose_first_and_leave_a_gap():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N)
    y = x + np.where(x > 0.5, 3.0, 1.0) * rng.standard_normal(N)
    found = cg.check((x, np.ones(N)), x, y, dependence=10, rng=0, **FAST)
    assert found.details["choosing_rows"] == 200
    assert found.details["testing_rows"] == 190
    assert found.locations[0].named
    assert found.locations[0].x[0] > 0.3
    assert "dependence=10" in found.to_html()


def test_dependence_of_one_row_is_none():
    x, noise, _ = clustered(1)
    model = (x, np.ones(N))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        plain = cg.check(model, x, x + noise, rng=0, **FAST)
        alone = cg.check(model, x, x + noise, groups=np.arange(N), rng=0, **FAST)
    assert alone.result.pvalue == plain.result.pvalue
    assert [p.pvalue for p in alone.locations] == [p.pvalue for p in plain.locations]
    assert alone.effect == plain.effect


def test_few_groups_tell_nothing_of_where():
    x, noise, _ = clustered(2)
    model = (x, np.ones(N))
    three = cg.check(model, x, x + noise, groups=np.arange(N) % 3, rng=0, **FAST)
    assert three.locations == ()
    assert any("groups are too few to tell where" in note for note in three.details["notes"])
    six = cg.check(model, x, x + noise, groups=np.arange(N) % 6, rng=0, **FAST)
    assert not any(place.named for place in six.locations)
    assert any("no place can be named: " in note for note in six.details["notes"])
    giant = np.where(np.arange(N) < 390, 0, np.arange(N))
    assert cg.check(model, x, x + noise, groups=giant, rng=0, **FAST).result.n == N


def test_many_rows_of_a_series_are_taken_at_even_steps(monkeypatch):
    monkeypatch.setattr("condgof.locate._bench.MOST_ROWS", 200)
    x, noise, codes = clustered(3)
    found = cg.check((x, np.ones(N)), x, x + noise, dependence=10, rng=0, **FAST)
    assert any("200 of the 400 rows, at even steps" in note for note in found.details["notes"])
    assert found.details["testing_rows"] == 95  # a gap of a block of 5
    found = cg.check((x, np.ones(N)), x, x + noise, groups=codes, rng=0, **FAST)
    assert any("200 of the 400 rows, drawn at random" in note for note in found.details["notes"])


def test_groups_within_groups():
    x, noise, codes = clustered(4)
    by = np.where(codes < 19, "many", "one")
    found = cg.check_groups(
        (x, np.ones(N)), x, x + noise, by=by, min_rows=10, groups=codes, rng=0, **FAST
    )
    assert list(found.checks) == ["many"]
    assert found["many"].result.details["groups"] == 19
    assert "one group only" in found.left_out["one"]
    frame = pd.DataFrame({"x": x, "who": codes.astype(str)})
    named = cg.check_groups((x, np.ones(N)), frame, x + noise, by=by, groups="who", rng=0, **FAST)
    assert named["many"].result.details["groups"] == 19
    blocks = cg.check_groups((x, np.ones(N)), x, x + noise, by=by, dependence=4, rng=0, **FAST)
    assert blocks["many"].result.details["block_length"] == 4
