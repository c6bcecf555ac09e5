"""Distribution objects of torch and NumPyro, which name families alike: closed forms, and the rest."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import ShapeError, UnsupportedModelError, check_count
from condgof.laws import _families as families
from condgof.laws._counts import Binomial, NegativeBinomial, Poisson
from condgof.laws._discrete import Discrete, Probabilities, bernoulli, probabilities
from condgof.laws._functions import refuse_flat
from condgof.laws._law import Batched, Law, Model, as_rows, same_as, tail_scores
from condgof.laws._parameters import Parameter
from condgof.sample import as_numbers

#: Whose class names can be trusted.
LIBRARIES = ("torch.distributions", "numpyro.distributions")
#: Wrappers that leave the parameters of what they wrap as they are.
WRAPPERS = ("Independent", "ExpandedDistribution")
#: Families with independent columns: ours, and their names for its parameters.
COLUMNWISE: dict[str, tuple[Callable[..., Law], dict[str, str]]] = {
    "Normal": (families.Normal, {"mean": "loc", "std": "scale"}),
    "StudentT": (families.StudentT, {"df": "df", "loc": "loc", "scale": "scale"}),
    "Laplace": (families.Laplace, {"loc": "loc", "scale": "scale"}),
    "Gamma": (families.Gamma, {"shape": "concentration", "rate": "rate"}),
    "Exponential": (families.Exponential, {"rate": "rate"}),
    "Beta": (families.Beta, {"a": "concentration1", "b": "concentration0"}),
    "Uniform": (families.Uniform, {"low": "low", "high": "high"}),
}
#: Discrete families: how to make ours with a function that reads a parameter by its name,
#: as (n,).
COUNTS: dict[str, Callable[[Callable[[str], FloatArray]], Discrete]] = {
    "Poisson": lambda read: Poisson(mean=read("rate")),
    "Binomial": lambda read: Binomial(trials=read("total_count"), p=read("probs")),
    "Bernoulli": lambda read: bernoulli(read("probs")),
    # torch counts successes of probability p before so many failures.
    "NegativeBinomial": lambda read: NegativeBinomial(
        mean=read("total_count") * read("probs") / (1.0 - read("probs")),
        dispersion=1.0 / read("total_count"),
    ),
    "GammaPoisson": lambda read: NegativeBinomial(
        mean=read("concentration") / read("rate"), dispersion=1.0 / read("concentration")
    ),
}
#: NumPyro's names for the same.
COUNTS |= {
    name + how: COUNTS[name]
    for name in ("Binomial", "Bernoulli")
    for how in ("Probs", "Logits")
}
COUNTS |= {
    f"NegativeBinomial{how}": COUNTS["GammaPoisson"] for how in ("Probs", "Logits", "2")
}
#: Which of several equivalent parameters of a distribution to take.
PREFERRED = ("scale_tril", "logits", "covariance_matrix", "precision_matrix", "probs")
CATEGORICAL = ("Categorical", "CategoricalProbs", "CategoricalLogits")
T = TypeVar("T")
#: What `TensorLaw` may lack.
OPTIONAL = ("cdf", "sf", "normal_scores", "mean_std", "location_scale", "sample")


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """A model of another library: a function from x to the law there, evaluated in batches."""

    LIBRARY: ClassVar[str]
    ADVICE: ClassVar[str] = Batched.advice
    #: What a library writes: an array → a tensor; (x, n) → the law of a batch;
    #: (`TensorLaw`, y) → the log-density (n,) and its gradient; (`TensorLaw`, rng, the
    #: shape ``sample`` gets) → draws.
    native: ClassVar[Callable[..., Any]]
    law: ClassVar[Callable[..., Law]]
    log_prob: ClassVar[Callable[..., FloatArray]]
    score: ClassVar[Callable[..., AnyArray]]
    draw: ClassVar[Callable[..., Any]]
    #: Rows of a batch; what a network keeps of them is a few megabytes.
    size: int = 8192
    #: x → distribution, or (y, x) → log-density.
    make: Callable[[Any], Any] | None = None
    density: Callable[[Any, Any], Any] | None = None
    #: Whether `make` gets the numbers of the rows in place of x.
    bound: bool = False

    def __post_init__(self) -> None:
        check_count(self.size, "batch_size")

    def session(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def at(self, x: Any) -> Network:
        """Return the network with what only x can tell of it."""
        return self

    def __call__(self, x: TableLike, n: int) -> Law:
        if x is not None and not isinstance(x, np.ndarray):
            advice = (
                "A network takes numbers: encode text columns first, or pass numeric"
                " columns."
            )
            x = as_numbers(x, "x", advice=advice)
        law = self.at(x).over(x, n)
        return law.joined() if law.first.discrete else law

    def over(self, x: TableLike, n: int) -> NetworkLaw:
        return NetworkLaw(self.law, x, n, int(self.size), self.session, self.ADVICE)

    def law_of(self, dist: object, x: Any, n: int) -> Law:
        """Return the law of a distribution for n rows: a closed form, or what it can do by itself."""
        check_distribution(dist)
        law = TensorLaw(self, dist, x, n)
        closed = closed_form(dist, law.layout)
        return law if closed is None else closed(None, n)

    def of_rows(self, dist: Any) -> Law | Model:
        """Return the law of a distribution with a row for each observation, or with one for all."""
        if not (batch := tuple(dist.batch_shape)):
            return self.model(make=partial(take, dist))
        law = self.law_of(dist, None, n := int(batch[0]))
        if not isinstance(law, TensorLaw):
            return law
        return replace(self, make=partial(take, dist), bound=True).over(np.arange(n), n)

    def given(self, x: TableLike) -> Any:
        """Return x as `make` and `density` get it."""
        return x if x is None or self.bound else self.native(x)

    def model(self, **changes: Any) -> Model:
        name = f"The {self.LIBRARY} model"
        return Model(replace(self, **changes), name, conditional=False, batched=True)


class NetworkLaw(Batched):
    """The law of a network, batch by batch."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "first"}

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        scores, errors = super().score_and_error(y)
        # One or two rows may lie at a mode.
        if len(y) > 2 and not scores.any() and isinstance(self.first, TensorLaw):
            refuse_flat("is flat at every row")
        return scores, errors

    def joined(self) -> Law:
        """Return the law of a discrete y at all rows as one that needs no network."""
        first: Any = self.first
        if isinstance(first, Probabilities):
            return replace(first, values=self._about_rows(lambda law, rows: law.values))  # type: ignore[attr-defined]

        def table(law: Any, rows: Any) -> FloatArray:
            return np.column_stack(
                [parameter.value for parameter in law._parameters().values()]
            )

        named = zip(first._parameters(), self._about_rows(table).T, strict=True)
        return type(first)(**dict(named))(None, self.count)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class TensorLaw(Law):
    """What a distribution of another library says of y at some rows; asked inside a session only."""

    network: Network
    #: Has ``log_prob(y)``, and more or less else; None where the log-density is all there
    #: is.
    dist: Any
    x: Any
    count: int

    rows = same_as("count")

    @property
    def name(self) -> str:
        return (
            "A model known by its log-density"
            if self.dist is None
            else type(self.dist).__name__
        )

    def take(self, rows: IntArray) -> Law:
        return self.network.law(None if self.x is None else self.x[rows], len(rows))

    @cached_property
    def layout(self) -> Layout | None:
        """How its dimensions stand for rows and columns; None for an object that does not tell."""
        tells = hasattr(self.dist, "batch_shape") and hasattr(self.dist, "event_shape")
        return Layout.of(self.dist, self.count) if tells else None

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        return self.dist is not None

    def can(self, ability: str) -> bool:
        return ability in self.abilities if ability in OPTIONAL else super().can(ability)

    @cached_property
    def abilities(self) -> set[str]:
        """What it can do beyond its density: found by trying, on a draw of its own."""
        if self.layout is None:
            return {"normal_scores"} if hasattr(self.dist, "normal_scores") else set()
        able, y = set(), np.zeros((self.count, self.layout.d_y))
        with self.network.session():
            with suppress(Exception):  # a sampler that is called otherwise
                if hasattr(self.dist, "sample"):
                    y = self.sample(np.random.default_rng(0))
                    able.add("sample")
            with suppress(ValueError):  # a value that the library refuses
                if self._normal_scores(y) is not None:
                    able.add("normal_scores")
                if self.layout.d_y == 1 and self._cdf(y) is not None:
                    able |= {"cdf", "sf"}
            moments = self._moments()
            if moments is not None and all(np.isfinite(part).all() for part in moments):
                able |= {"mean_std", "location_scale"}
        return able

    def score(self, y: AnyArray) -> AnyArray:
        return self.network.score(self, y)

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self.network.log_prob(self, y)

    def log_density(self, y: Any) -> Any:
        """Return log p(y|x) of a tensor (n, d_y) or (n,), as a tensor (n,)."""
        check_distribution(self.dist)
        if hasattr(y, "astype") and is_discrete(
            self.dist
        ):  # JAX looks classes up by whole numbers
            y = y.astype(int)
        if self.layout is None:
            return check_rowwise(self.dist.log_prob(y), self.count)
        layout = Layout.of(self.dist, self.count, 1 if y.ndim == 1 else int(y.shape[1]))
        values = self.dist.log_prob(y.reshape(layout.shape))
        want = layout.batch or (self.count,)
        if tuple(values.shape) != want:
            raise ShapeError(
                f"log_prob returned shape {tuple(values.shape)}, expected {want}."
            )
        return values.reshape(self.count, -1).sum(1)

    def _tensor(self, y: AnyArray) -> Any:
        y = as_rows(y)
        return self.network.native(y).reshape(
            Layout.of(self.dist, self.count, y.shape[1]).shape
        )

    def _held(self, ability: str, answer: T | None) -> T:
        if answer is None:
            self.lacks(ability)
        return answer

    def cdf(self, y: AnyArray) -> FloatArray:
        d_y = as_rows(y).shape[1]
        if d_y != 1:
            raise UnsupportedModelError(
                f"A cdf is defined for d_y = 1 only, and y has {d_y} columns."
            )
        return self._held("cdf", self._cdf(y))[:, 0]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        # A network is evaluated once a row, not once a row and value.
        return np.stack(
            [self.cdf(np.full(self.count, value)) for value in np.ravel(values)], axis=1
        )

    def _cdf(self, y: AnyArray) -> FloatArray | None:
        """Return the CDF of each coordinate, (n, d_y), where coordinates are independent."""
        part, layout = unwrapped(self.dist), self.layout
        kind = family(part)
        mixed = kind == "MixtureSameFamily" and layout is not None and layout.event
        if (
            layout is None
            or (layout.d_y > 1 and (kind is None or mixed))
            or not hasattr(part, "cdf")
        ):
            # columns are not independent, or who knows what a user's own class means
            return None
        value = self._tensor(y)
        if hasattr(value, "double") and kind not in (None, "TransformedDistribution"):
            value = (
                value.double()
            )  # torch's own formulas take any precision, and tails need it
        try:
            below = doubles(_lenient(part).cdf(value))
        except NotImplementedError:
            return None
        whole = below.size == self.count * layout.d_y
        return below.reshape(self.count, layout.d_y) if whole else None

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._held("normal_scores", self._normal_scores(y))

    def _normal_scores(self, y: AnyArray) -> FloatArray | None:
        """Return u, standard normal under the model, by a flow's inverse or by independent CDFs."""
        if hasattr(self.dist, "normal_scores"):
            z = self.dist.normal_scores(self.network.native(as_rows(y)))
            return None if z is None else doubles(z)
        pulled, lower = self._pulled_back(y), None
        if pulled is not None or (lower := self._cdf(y)) is None:
            return pulled
        # A CDF that rounds to 1 is no farther out than its precision can tell.
        least = 2.0**-25 if (lower.astype(np.float32) == lower).all() else 2.0**-54
        return tail_scores(lower, np.maximum(1.0 - lower, least))

    def _pulled_back(self, y: AnyArray) -> FloatArray | None:
        """Return the normal scores of the base distribution of a flow, or None."""
        flow = unwrapped(self.dist)
        if self.layout is None:
            return None
        if family(flow) == "TransformedDistribution":
            if not all(
                getattr(transform, "bijective", True) for transform in flow.transforms
            ):
                return None
            base, value = flow.base_dist, self._tensor(y)
            for transform in reversed(flow.transforms):
                value = transform.inv(value)
        elif hasattr(flow, "transform") and hasattr(flow, "base"):  # as zuko has them
            base, value = flow.base, flow.transform(self._tensor(y))
        else:
            return None
        z = doubles(value)
        if z.size != self.count * self.layout.d_y:
            return None
        z, inner = z.reshape(self.count, -1), self.network.law_of(base, None, self.count)
        return (
            inner._normal_scores(z)
            if isinstance(inner, TensorLaw)
            else inner.normal_scores(z)
        )

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        return self._held("mean_std", self._moments())

    def _moments(self) -> tuple[FloatArray, FloatArray] | None:
        mean, variance = (_told_by(self.dist, what) for what in ("mean", "variance"))
        if self.layout is None or mean is None or variance is None:
            return None
        return np.array(self._spread(mean)), np.sqrt(self._spread(variance))

    def _spread(self, tensor: object) -> FloatArray:
        """Bring what the distribution has for each row and column to (n, d_y)."""
        assert self.layout is not None
        return self.layout.spread(doubles(tensor), self.layout.event, (self.layout.d_y,))

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        bounds = None if self.layout is None else _bounds(self.dist)
        if bounds is None:
            return super().support
        low, high = map(doubles, bounds)
        return (
            (low, high)
            if low.ndim == high.ndim == 0
            else (self._spread(low), self._spread(high))
        )

    def sample(self, rng: np.random.Generator) -> FloatArray:
        if self.layout is None or not hasattr(self.dist, "sample"):
            self.lacks("sample")
        # One that is the same for every row must be told how many there are.
        drawn = self.network.draw(self, rng, () if self.layout.batch else ((self.count,),))
        return doubles(drawn).reshape(self.count, self.layout.d_y)


@dataclass(frozen=True)
class Layout:
    """How the shapes of a distribution stand for rows and columns of y; a batch of () is for all."""

    batch: tuple[int, ...]
    event: tuple[int, ...]
    rows: int
    d_y: int

    @classmethod
    def of(cls, dist: Any, rows: int, d_y: int | None = None) -> Layout:
        """Check that a distribution has one part for each row, or one for all; nothing is broadcast."""
        batch, event = tuple(dist.batch_shape), tuple(dist.event_shape)
        columns = (batch + event)[1:] if batch else event
        width = int(np.prod(columns))
        fits = sum(size != 1 for size in columns) <= 1 and d_y in (None, width)
        if fits and (not batch or batch[0] == rows):
            return cls(batch, event, rows, width)
        wanted = f"({rows}, {'d_y' if d_y is None else d_y})"
        raise ShapeError(
            f"The model returned {told(dist)} for {rows} rows of x. Batch and event shape"
            f" together must be {wanted}, or ({rows},) for one column, with the rows first."
            " Independent columns are wrapped in Independent(…, 1), rows are not."
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.batch + self.event if self.batch else (self.rows, *self.event)

    def spread(
        self, array: AnyArray, event: tuple[int, ...], tail: tuple[int, ...]
    ) -> FloatArray:
        """Bring a parameter of shape (*batch, *event), or less, to (rows, *tail)."""
        whole = np.broadcast_to(array, self.batch + event).reshape(-1, *tail)
        return np.broadcast_to(whole, (self.rows, *tail))


def doubles(tensor: object) -> FloatArray:
    """Turn a tensor of torch or JAX, or a number, into a NumPy array of doubles."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().double().numpy()
    return np.asarray(tensor, dtype=np.float64)


def told(dist: Any) -> str:
    batch, event = tuple(dist.batch_shape), tuple(dist.event_shape)
    return f"{type(dist).__name__} with batch shape {batch} and event shape {event}"


def family(dist: object) -> str | None:
    """Return the name of the class that defines the log-density, or None if it is not a library's."""
    named = None
    for base in type(dist).__mro__:
        if not base.__name__.startswith("_"):
            named = base.__name__
        if "log_prob" in vars(base):
            return named if base.__module__.startswith(LIBRARIES) else None
    return None


def unwrapped(dist: Any) -> Any:
    """Return a distribution without what only regroups its dimensions."""
    while family(dist) in WRAPPERS:
        dist = dist.base_dist
    return dist


def take(dist: Any, rows: Any) -> Any:
    """Return the distribution of some rows, those of the first batch dimension."""
    if not tuple(dist.batch_shape):
        return dist  # the same for every row
    return rebuilt(dist, lambda value, by_row: value[rows] if by_row else value)


def rebuilt(dist: Any, change: Callable[[Any, bool], Any]) -> Any:
    """Make a distribution anew of its changed parameters, told if they are by row, or refuse to."""
    kind, name, batch = type(dist), family(dist), tuple(dist.batch_shape)
    if name == "Independent":
        return kind(rebuilt(dist.base_dist, change), dist.reinterpreted_batch_ndims)
    if name == "MixtureSameFamily":
        return kind(
            rebuilt(_mixing(dist), change), rebuilt(dist.component_distribution, change)
        )
    if kind.__name__ == name == "TransformedDistribution":
        held = [
            value for transform in dist.transforms for value in vars(transform).values()
        ]
        if not any(getattr(value, "ndim", 0) for value in held):  # they might be by row
            return kind(rebuilt(dist.base_dist, change), dist.transforms)
    # LogNormal and its kin are transformed distributions with parameters of their own.
    elif name in ("TransformedDistribution", kind.__name__):
        twice, parameters = (
            [key for key in PREFERRED if key in dist.arg_constraints][1:],
            {},
        )
        for key, constraint in dist.arg_constraints.items():
            if key not in twice:
                value = getattr(dist, key)
                places = np.ndim(value) - (_told_by(constraint, "event_dim") or 0)
                by_row = places == len(batch) and tuple(value.shape)[:1] == batch[:1]
                parameters[key] = change(value, by_row)
        with suppress(TypeError):  # there is more to it than parameters
            return kind(**parameters)
    advice = (
        "Pass the function that makes it, f(x) → distribution, to condgof.from_torch or"
        " from_jax."
    )
    raise UnsupportedModelError(f"Rows of {kind.__name__} cannot be taken. {advice}")


def closed_form(dist: object, layout: Layout | None) -> Law | None:
    """Return the closed form of a distribution, or None; a discrete one has it, or is refused."""
    if is_discrete(dist):
        return _discrete_form(dist, layout)
    if layout is None:
        return None
    part, d_y = unwrapped(dist), layout.d_y
    name = family(part)
    if name in COLUMNWISE:
        ours, keys = COLUMNWISE[name]
        return ours(
            **{key: _parameter(dist, part, theirs, layout) for key, theirs in keys.items()}
        )
    if name in ("MultivariateNormal", "LowRankMultivariateNormal"):
        square = doubles(
            part.scale_tril if name == "MultivariateNormal" else part.covariance_matrix
        )
        square = layout.spread(square, (d_y, d_y), (d_y, d_y))
        turned = square.transpose(0, 2, 1)
        cov = square @ turned if name == "MultivariateNormal" else 0.5 * (square + turned)
        return families.Normal(_parameter(dist, part, "loc", layout), cov=cov)
    inner = unwrapped(part.component_distribution) if name == "MixtureSameFamily" else None
    if family(inner) != "Normal" or int(np.prod(layout.batch[1:])) > 1:
        return None  # the latter has independent columns, each a mixture of its own
    weights = doubles(_mixing(part).probs)
    count = weights.shape[-1]
    weights = layout.spread(weights, (count,), (count,))
    # Weights in single precision sum to 1 up to 1e-7 only.
    weights = weights / weights.sum(axis=1, keepdims=True)
    means, stds = (_parameter(part, inner, key, layout, count) for key in ("loc", "scale"))
    return families.NormalMixture(weights, means, stds)


def _parameter(
    dist: object, part: object, key: str, layout: Layout, *more: int
) -> Parameter:
    """Read a parameter, (n, *more, d_y), named after what the user wrote, for messages."""
    values = doubles(getattr(part, key))
    values = layout.spread(values, (*more, *layout.event), (*more, layout.d_y))
    return Parameter.of(f"{key} of {told(dist)}", values, len(more))


def _mixing(dist: Any) -> Any:
    """Return the weights of a MixtureSameFamily, which torch and NumPyro keep under different names."""
    return getattr(dist, "mixture_distribution", None) or dist.mixing_distribution


def _discrete_form(dist: object, layout: Layout | None) -> Discrete:
    part = unwrapped(dist)
    name = family(part)
    if name not in CATEGORICAL and name not in COUNTS:
        raise UnsupportedModelError(
            f"{type(part).__name__} is a discrete distribution that is not known here. Use"
            " condgof.from_log_prob(f, backend=..., support='counts') or"
            " condgof.probabilities(P)."
        )
    if layout is None:
        raise UnsupportedModelError(
            f"{type(part).__name__} does not tell its shape (batch_shape)."
        )
    place = Layout.of(dist, layout.rows, 1)
    if name in CATEGORICAL:
        values = doubles(part.probs)
        values = place.spread(values, values.shape[-1:], values.shape[-1:])
        return probabilities(values, ordered=type(part).__name__ == "OrderedLogistic")
    return COUNTS[name](
        lambda key: place.spread(doubles(getattr(part, key)), place.event, (1,))[:, 0]
    )


def _told_by(owner: object, what: str) -> Any:
    """Return an attribute, or None where a library has none or refuses to tell."""
    try:
        return getattr(owner, what)
    except (NotImplementedError, AttributeError):
        return None


def _constraint(dist: object) -> Any:
    """Return the innermost constraint that describes the support, or None if it is not told."""
    support = _told_by(dist, "support")
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support


def is_discrete(dist: object) -> bool:
    return bool(_told_by(_constraint(dist), "is_discrete"))


def _bounds(dist: object) -> tuple[Any, Any] | None:
    """Return the ends of the support, or None for the whole line."""
    support = _constraint(dist)
    name = type(support).__name__.strip("_").lower()
    low, high = (getattr(support, f"{end}_bound", None) for end in ("lower", "upper"))
    if low is not None or high is not None:
        return -math.inf if low is None else low, math.inf if high is None else high
    if (
        family(unwrapped(dist)) == "VonMises"
    ):  # a circle, which torch gives as the whole line
        return -math.pi, math.pi
    if support is None or name in ("real", "realvector", "dependent", "dependentproperty"):
        return None
    what = (
        f"{type(dist).__name__} lives on {support}, which is not an interval in each"
        " coordinate of y"
    )
    raise UnsupportedModelError(
        f"{what}. Transform y to coordinates that can take any real value."
    )


def _lenient(dist: Any) -> Any:
    """Return a copy of a distribution that takes any value, however far out, for one."""
    made = copy.copy(dist)
    made._validate_args = False
    for name in ("base_dist", "_component_distribution"):
        if hasattr(made, name):
            setattr(made, name, _lenient(getattr(made, name)))
    return made


def check_distribution(dist: object) -> None:
    if not callable(getattr(dist, "log_prob", None)):
        shape = f" of shape {tuple(dist.shape)}" if hasattr(dist, "shape") else ""
        raise UnsupportedModelError(
            f"The model returned {type(dist).__name__}{shape}, and a distribution with"
            " log_prob(y) is needed, such as Categorical(logits=...). A log-density goes"
            " to condgof.from_log_prob."
        )


def check_rowwise(values: object, rows: int) -> Any:
    """Check that a log-density has one number for each row; (rows, 1) will do."""
    shape = tuple(getattr(values, "shape", ()))
    if shape not in ((rows,), (rows, 1)) or not hasattr(values, "reshape"):
        got = f"shape {shape}" if hasattr(values, "shape") else type(values).__name__
        square = (
            " Is one of x and y of shape (n,) and the other of (n, 1)?"
            if len(shape) == 2
            else ""
        )
        want = f"one number for each row, shape ({rows},)"
        raise ShapeError(f"The log-density must have {want}, got {got}.{square}")
    return values.reshape(rows)
