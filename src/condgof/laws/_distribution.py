"""Distribution objects of torch and NumPyro, which name their families alike.

A distribution that has a closed form here becomes that (`closed_form`); of any other, a
`TensorLaw` offers what the library computes. Neither library is imported: distributions
are recognised by the names of the classes that the libraries themselves define.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import ShapeError, UnsupportedModelError, check_count
from condgof.laws import _families as families
from condgof.laws._counts import Binomial, NegativeBinomial, Poisson
from condgof.laws._discrete import Discrete, Probabilities, bernoulli, probabilities
from condgof.laws._functions import refuse_flat
from condgof.laws._law import Batched, Law, Model, Rows, as_rows, same_as, tail_scores
from condgof.laws._parameters import Parameter
from condgof.sample import as_numbers

#: Modules whose class names can be trusted.
LIBRARIES = ("torch.distributions", "numpyro.distributions")
#: Families that leave the parameters of the distribution that they wrap as they are.
WRAPPERS = ("Independent", "ExpandedDistribution")
#: Families of class probabilities.
CATEGORICAL = ("Categorical", "CategoricalProbs", "CategoricalLogits")
#: Equivalent parameters, of which a distribution has several, in the order of preference.
PREFERRED = ("scale_tril", "logits", "covariance_matrix", "precision_matrix", "probs")
#: Abilities that a `TensorLaw` may lack.
OPTIONAL = ("cdf", "sf", "normal_scores", "mean_std", "location_scale", "sample")
#: The smallest upper tail that a CDF in single precision leaves when it rounds to 1.
RESOLVED_SINGLE = 2.0**-25
#: The same in double precision.
RESOLVED_DOUBLE = 2.0**-54

#: A function that reads a parameter of a distribution by the library's name, (n, d_y).
ReadColumns: TypeAlias = Callable[[str], Parameter]
#: The same for a discrete y, (n,).
ReadCounts: TypeAlias = Callable[[str], FloatArray]

#: Continuous families with independent columns, by the libraries' names of them.
COLUMNWISE: dict[str, Callable[[ReadColumns], Law]] = {
    "Normal": lambda read: families.Normal(mean=read("loc"), std=read("scale")),
    "StudentT": lambda read: families.StudentT(
        df=read("df"), loc=read("loc"), scale=read("scale")
    ),
    "Laplace": lambda read: families.Laplace(loc=read("loc"), scale=read("scale")),
    "Gamma": lambda read: families.Gamma(shape=read("concentration"), rate=read("rate")),
    "Exponential": lambda read: families.Exponential(rate=read("rate")),
    "Beta": lambda read: families.Beta(a=read("concentration1"), b=read("concentration0")),
    "Uniform": lambda read: families.Uniform(low=read("low"), high=read("high")),
}


def _torch_negative_binomial(read: ReadCounts) -> Discrete:
    """Return torch's: successes of probability p before `total_count` failures."""
    failures = read("total_count")
    p = read("probs")
    return NegativeBinomial(mean=failures * p / (1.0 - p), dispersion=1.0 / failures)


def _gamma_poisson(read: ReadCounts) -> Discrete:
    """Return NumPyro's: a Poisson whose mean has a Gamma distribution."""
    return NegativeBinomial(
        mean=read("concentration") / read("rate"), dispersion=1.0 / read("concentration")
    )


def _binomial(read: ReadCounts) -> Discrete:
    return Binomial(trials=read("total_count"), p=read("probs"))


def _bernoulli(read: ReadCounts) -> Discrete:
    return bernoulli(read("probs"))


#: Families of counts, by the libraries' names of them; those that end in Probs, Logits or
#: 2 are NumPyro's.
COUNTS: dict[str, Callable[[ReadCounts], Discrete]] = {
    "Poisson": lambda read: Poisson(mean=read("rate")),
    "Binomial": _binomial,
    "BinomialProbs": _binomial,
    "BinomialLogits": _binomial,
    "Bernoulli": _bernoulli,
    "BernoulliProbs": _bernoulli,
    "BernoulliLogits": _bernoulli,
    "NegativeBinomial": _torch_negative_binomial,
    "GammaPoisson": _gamma_poisson,
    "NegativeBinomialProbs": _gamma_poisson,
    "NegativeBinomialLogits": _gamma_poisson,
    "NegativeBinomial2": _gamma_poisson,
}

T = TypeVar("T")


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """A model of another library: a function from x to the law there, evaluated in batches.

    A subclass for a library writes the methods that are declared here without a body.
    """

    #: The name of the library in messages.
    LIBRARY: ClassVar[str]
    #: What to do when the prediction of a row depends on other rows.
    ADVICE: ClassVar[str] = Batched.advice
    #: (array) → tensor of the library.
    native: ClassVar[Callable[..., Any]]
    #: (x of a batch, its number of rows) → the law of the batch.
    law: ClassVar[Callable[..., Law]]
    #: (`TensorLaw`, y) → the log-density, (n,).
    log_prob: ClassVar[Callable[..., FloatArray]]
    #: (`TensorLaw`, y) → the gradient of the log-density, of the shape of y.
    score: ClassVar[Callable[..., AnyArray]]
    #: (`TensorLaw`, rng, arguments of the distribution's ``sample``) → draws.
    draw: ClassVar[Callable[..., Any]]

    #: Rows of a batch; what a network keeps of them is a few megabytes.
    size: int = 8192
    #: x → distribution; None where `density` is all that is known.
    make: Callable[[Any], Any] | None = None
    #: (y, x) → log-density.
    density: Callable[[Any, Any], Any] | None = None
    #: Whether `make` gets the numbers of the rows in place of x.
    bound: bool = False

    def __post_init__(self) -> None:
        check_count(self.size, "batch_size")

    def session(self) -> AbstractContextManager[Any]:
        """Return the context in which the network is evaluated."""
        return nullcontext()

    def at(self, x: Any) -> Network:
        """Return the network after what can be known of it with x only."""
        return self

    def __call__(self, x: TableLike, n: int) -> Law:
        """Return the law at the n rows of x."""
        if x is not None and not isinstance(x, np.ndarray):
            x = as_numbers(
                x,
                "x",
                advice="A network takes numbers: encode text columns first, or pass numeric"
                " columns.",
            )
        law = self.at(x).over(x, n)
        return law.joined() if law.first.discrete else law

    def over(self, x: TableLike, n: int) -> NetworkLaw:
        """Return the law at the n rows of x, in batches."""
        return NetworkLaw(
            make=self.law,
            x=x,
            count=n,
            size=int(self.size),
            session=self.session,
            advice=self.ADVICE,
        )

    def law_of(self, dist: object, x: Any, n: int) -> Law:
        """Return the law of a distribution for n rows: a closed form, or a `TensorLaw`."""
        check_distribution(dist)
        law = TensorLaw(self, dist, x, n)
        closed = closed_form(dist, law.layout)
        return law if closed is None else closed(None, n)

    def of_rows(self, dist: Any) -> Law | Model:
        """Return the law of a distribution that has a row for each observation.

        A distribution without batch dimensions is the same for all rows: a model.
        """
        batch = tuple(dist.batch_shape)
        if not batch:
            return self.model(make=partial(take_distribution, dist))
        n = int(batch[0])
        law = self.law_of(dist, None, n)
        if not isinstance(law, TensorLaw):
            return law
        by_row = replace(self, make=partial(take_distribution, dist), bound=True)
        return by_row.over(np.arange(n), n)

    def given(self, x: TableLike) -> Any:
        """Return x as `make` and `density` get it."""
        return x if x is None or self.bound else self.native(x)

    def model(self, **changes: Any) -> Model:
        """Return the model of this network, after changes of its fields."""
        return Model(
            replace(self, **changes),
            name=f"The {self.LIBRARY} model",
            conditional=False,
            batched=True,
        )


class NetworkLaw(Batched):
    """The law of a network, batch by batch."""

    def __getstate__(self) -> dict[str, Any]:
        # The law of the first batch is cached, and holds tensors that need not be pickled.
        return {name: value for name, value in vars(self).items() if name != "first"}

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        scores, errors = super().score_and_error(y)
        # One or two rows may lie at a mode, where the score is 0.
        if len(y) > 2 and not scores.any() and isinstance(self.first, TensorLaw):
            refuse_flat("is flat at every row")
        return scores, errors

    def joined(self) -> Law:
        """Return the law of a discrete y at all rows as one that needs no network."""
        first: Any = self.first
        if isinstance(first, Probabilities):
            values = self._gather_fixed(_class_probabilities)
            return replace(first, values=values)
        table = self._gather_fixed(_parameter_table)
        parameters = dict(zip(first._parameters(), table.T, strict=True))
        return type(first)(**parameters)(None, self.count)  # type: ignore[no-any-return]


def _class_probabilities(law: Any, rows: Rows) -> FloatArray:
    """Return the probabilities of a batch, (n, classes)."""
    return law.values  # type: ignore[no-any-return]


def _parameter_table(law: Any, rows: Rows) -> FloatArray:
    """Return the parameters of a family of counts in a batch, (n, parameters)."""
    return np.column_stack([parameter.value for parameter in law._parameters().values()])


@dataclass(frozen=True, eq=False)
class TensorLaw(Law):
    """The law of a distribution of another library at some rows, inside a session only."""

    network: Network
    #: Has ``log_prob(y)``, perhaps other methods; None where only a log-density is known.
    dist: Any
    x: Any
    count: int

    rows = same_as("count")

    @property
    def name(self) -> str:
        if self.dist is None:
            return "A model known by its log-density"
        return type(self.dist).__name__

    def take(self, rows: IntArray) -> Law:
        return self.network.law(None if self.x is None else self.x[rows], len(rows))

    @cached_property
    def layout(self) -> Layout | None:
        """How the shapes stand for rows and columns; None for an object without shapes."""
        has_shapes = hasattr(self.dist, "batch_shape") and hasattr(self.dist, "event_shape")
        return Layout.from_distribution(self.dist, self.count) if has_shapes else None

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        return self.dist is not None

    def can(self, ability: str) -> bool:
        return ability in self.abilities if ability in OPTIONAL else super().can(ability)

    @cached_property
    def abilities(self) -> set[str]:
        """The abilities beyond the density: those that work on a draw of y."""
        if self.layout is None:
            return {"normal_scores"} if hasattr(self.dist, "normal_scores") else set()
        abilities = set()
        y = np.zeros((self.count, self.layout.d_y))
        with self.network.session():
            with suppress(Exception):  # a sampler that is called otherwise
                if hasattr(self.dist, "sample"):
                    y = self.sample(np.random.default_rng(0))
                    abilities.add("sample")
            with suppress(ValueError):  # a value that the library refuses
                if self._normal_scores(y) is not None:
                    abilities.add("normal_scores")
                if self.layout.d_y == 1 and self._cdf(y) is not None:
                    abilities |= {"cdf", "sf"}
            moments = self._moments()
            if moments is not None and all(np.isfinite(part).all() for part in moments):
                abilities |= {"mean_std", "location_scale"}
        return abilities

    def _or_lacks(self, ability: str, answer: T | None) -> T:
        """Return the answer of an ability; None raises the error for a missing one."""
        if answer is None:
            self.lacks(ability)
        return answer

    def score(self, y: AnyArray) -> AnyArray:
        return self.network.score(self, y)

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self.network.log_prob(self, y)

    def log_density(self, y: Any) -> Any:
        """Return log p(y|x) of a tensor (n, d_y) or (n,), as a tensor (n,)."""
        check_distribution(self.dist)
        # JAX looks classes up by whole numbers.
        if hasattr(y, "astype") and is_discrete(self.dist):
            y = y.astype(int)
        if self.layout is None:
            return check_rowwise(self.dist.log_prob(y), self.count)
        d_y = 1 if y.ndim == 1 else int(y.shape[1])
        layout = Layout.from_distribution(self.dist, self.count, d_y)
        values = self.dist.log_prob(y.reshape(layout.shape))
        expected = layout.batch or (self.count,)
        if tuple(values.shape) != expected:
            raise ShapeError(
                f"log_prob returned shape {tuple(values.shape)}, expected {expected}."
            )
        return values.reshape(self.count, -1).sum(1)

    def _tensor(self, y: AnyArray) -> Any:
        """Return y as a tensor of the shape that the distribution takes."""
        y = as_rows(y)
        layout = Layout.from_distribution(self.dist, self.count, y.shape[1])
        return self.network.native(y).reshape(layout.shape)

    def cdf(self, y: AnyArray) -> FloatArray:
        d_y = as_rows(y).shape[1]
        if d_y != 1:
            raise UnsupportedModelError(
                f"A cdf is defined for d_y = 1 only, and y has {d_y} columns."
            )
        return self._or_lacks("cdf", self._cdf(y))[:, 0]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        # A network is evaluated once a row, not once a row and value.
        columns = [self.cdf(np.full(self.count, value)) for value in np.ravel(values)]
        return np.stack(columns, axis=1)

    def _cdf(self, y: AnyArray) -> FloatArray | None:
        """Return the CDF of each coordinate, (n, d_y), or None.

        It is None where the library has no CDF, and where coordinates need not be
        independent: in a mixture, and in a class of the user's.
        """
        part = unwrap(self.dist)
        layout = self.layout
        name = family_name(part)
        if layout is None or not hasattr(part, "cdf"):
            return None
        is_joint_mixture = name == "MixtureSameFamily" and bool(layout.event)
        if layout.d_y > 1 and (name is None or is_joint_mixture):
            return None
        value = self._tensor(y)
        # torch's own formulas take any precision, and tails need double.
        if hasattr(value, "double") and name not in (None, "TransformedDistribution"):
            value = value.double()
        try:
            lower = doubles(_without_validation(part).cdf(value))
        except NotImplementedError:
            return None
        is_complete = lower.size == self.count * layout.d_y
        return lower.reshape(self.count, layout.d_y) if is_complete else None

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._or_lacks("normal_scores", self._normal_scores(y))

    def _normal_scores(self, y: AnyArray) -> FloatArray | None:
        """Return Φ⁻¹(F), (n, d_y), by a flow's inverse or by independent CDFs, or None."""
        if hasattr(self.dist, "normal_scores"):
            z = self.dist.normal_scores(self.network.native(as_rows(y)))
            return None if z is None else doubles(z)
        scores_of_base = self._base_normal_scores(y)
        if scores_of_base is not None:
            return scores_of_base
        lower = self._cdf(y)
        if lower is None:
            return None
        # A CDF that rounds to 1 is no farther out than its precision resolves.
        is_single = (lower.astype(np.float32) == lower).all()
        smallest_upper = RESOLVED_SINGLE if is_single else RESOLVED_DOUBLE
        return tail_scores(lower, np.maximum(1.0 - lower, smallest_upper))

    def _base_normal_scores(self, y: AnyArray) -> FloatArray | None:
        """Return the normal scores of a flow's base distribution, (n, d_y), or None."""
        if self.layout is None:
            return None
        inverse = self._invert_flow(unwrap(self.dist), y)
        if inverse is None:
            return None
        z = doubles(inverse.value)
        if z.size != self.count * self.layout.d_y:
            return None
        z = z.reshape(self.count, -1)
        base_law = self.network.law_of(inverse.base, None, self.count)
        if isinstance(base_law, TensorLaw):
            return base_law._normal_scores(z)
        return base_law.normal_scores(z)

    def _invert_flow(self, flow: Any, y: AnyArray) -> FlowInverse | None:
        """Return a flow's base distribution and y there; None for another distribution."""
        if family_name(flow) == "TransformedDistribution":
            transforms = flow.transforms
            if not all(getattr(transform, "bijective", True) for transform in transforms):
                return None
            value = self._tensor(y)
            for transform in reversed(transforms):
                value = transform.inv(value)
            return FlowInverse(flow.base_dist, value)
        if hasattr(flow, "transform") and hasattr(flow, "base"):  # as zuko has them
            return FlowInverse(flow.base, flow.transform(self._tensor(y)))
        return None

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        return self._or_lacks("mean_std", self._moments())

    def _moments(self) -> tuple[FloatArray, FloatArray] | None:
        """Return mean and standard deviation, (n, d_y) each, or None."""
        mean = _optional_attribute(self.dist, "mean")
        variance = _optional_attribute(self.dist, "variance")
        if self.layout is None or mean is None or variance is None:
            return None
        return np.array(self._by_column(mean)), np.sqrt(self._by_column(variance))

    def _by_column(self, tensor: object) -> FloatArray:
        """Return what the distribution has for each row and column as (n, d_y)."""
        assert self.layout is not None
        return self.layout.spread(doubles(tensor), self.layout.event, (self.layout.d_y,))

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        bounds = None if self.layout is None else _read_bounds(self.dist)
        if bounds is None:
            return super().support
        low = doubles(bounds[0])
        high = doubles(bounds[1])
        if low.ndim == high.ndim == 0:
            return low, high
        return self._by_column(low), self._by_column(high)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        if self.layout is None or not hasattr(self.dist, "sample"):
            self.lacks("sample")
        # A distribution that is the same for every row gets their number.
        arguments = () if self.layout.batch else ((self.count,),)
        draws = self.network.draw(self, rng, arguments)
        return doubles(draws).reshape(self.count, self.layout.d_y)


class FlowInverse(NamedTuple):
    """The base distribution of a flow, and the tensor that y was transformed from."""

    base: Any
    value: Any


@dataclass(frozen=True)
class Layout:
    """How the shapes of a distribution stand for rows and columns of y.

    A batch shape of () is one distribution for all rows.
    """

    batch: tuple[int, ...]
    event: tuple[int, ...]
    rows: int
    d_y: int

    @classmethod
    def from_distribution(cls, dist: Any, rows: int, d_y: int | None = None) -> Layout:
        """Read the shapes of a distribution, which must have a part for each row, or one.

        Nothing is broadcast, and more than one dimension of columns is refused.
        """
        batch = tuple(dist.batch_shape)
        event = tuple(dist.event_shape)
        columns = (batch + event)[1:] if batch else event
        width = int(np.prod(columns))
        has_one_dimension = sum(size != 1 for size in columns) <= 1
        has_width = d_y is None or d_y == width
        has_rows = not batch or batch[0] == rows
        if has_one_dimension and has_width and has_rows:
            return cls(batch, event, rows, width)
        wanted = f"({rows}, {'d_y' if d_y is None else d_y})"
        raise ShapeError(
            f"The model returned {describe(dist)} for {rows} rows of x. Batch and event"
            f" shape together must be {wanted}, or ({rows},) for one column, with the rows"
            " first. Independent columns are wrapped in Independent(…, 1), rows are not."
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of y that the distribution takes."""
        return self.batch + self.event if self.batch else (self.rows, *self.event)

    def spread(
        self, array: AnyArray, event: tuple[int, ...], tail: tuple[int, ...]
    ) -> FloatArray:
        """Return a parameter of shape (*batch, *event), or less, as (rows, *tail)."""
        complete = np.broadcast_to(array, self.batch + event).reshape(-1, *tail)
        return np.broadcast_to(complete, (self.rows, *tail))


def doubles(tensor: object) -> FloatArray:
    """Turn a tensor of torch or JAX, or a number, into a NumPy array of doubles."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().double().numpy()
    return np.asarray(tensor, dtype=np.float64)


def describe(dist: Any) -> str:
    """Return the class and the shapes of a distribution, for messages."""
    batch = tuple(dist.batch_shape)
    event = tuple(dist.event_shape)
    return f"{type(dist).__name__} with batch shape {batch} and event shape {event}"


def family_name(dist: object) -> str | None:
    """Return the name of the library's class that defines the log-density, or None."""
    name = None
    for base in type(dist).__mro__:
        if not base.__name__.startswith("_"):
            name = base.__name__
        if "log_prob" in vars(base):
            return name if base.__module__.startswith(LIBRARIES) else None
    return None


def unwrap(dist: Any) -> Any:
    """Return a distribution without what only regroups its dimensions."""
    while family_name(dist) in WRAPPERS:
        dist = dist.base_dist
    return dist


def take_distribution(dist: Any, rows: Any) -> Any:
    """Return the distribution of some rows, those of the first batch dimension."""
    if not tuple(dist.batch_shape):
        return dist  # the same for every row
    return rebuild(dist, lambda value, by_row: value[rows] if by_row else value)


def rebuild(dist: Any, change: Callable[[Any, bool], Any]) -> Any:
    """Return a distribution of the same class with changed parameters, or refuse to.

    `change` gets the value of a parameter, and whether it has a row for each observation.
    """
    dist_class = type(dist)
    name = family_name(dist)
    if name == "Independent":
        base = rebuild(dist.base_dist, change)
        return dist_class(base, dist.reinterpreted_batch_ndims)
    if name == "MixtureSameFamily":
        weights = rebuild(_mixing_distribution(dist), change)
        components = rebuild(dist.component_distribution, change)
        return dist_class(weights, components)
    if dist_class.__name__ == name == "TransformedDistribution":
        # A transform that holds arrays might have a row of them for each observation.
        if not any(map(_holds_arrays, dist.transforms)):
            return dist_class(rebuild(dist.base_dist, change), dist.transforms)
    elif name in ("TransformedDistribution", dist_class.__name__):
        # The former are LogNormal and other transformed distributions with parameters.
        parameters = _changed_parameters(dist, change)
        with suppress(TypeError):  # the class needs more than its parameters
            return dist_class(**parameters)
    raise UnsupportedModelError(
        f"Rows of {dist_class.__name__} cannot be taken. Pass the function that makes it,"
        " f(x) → distribution, to condgof.from_torch or from_jax."
    )


def _holds_arrays(transform: object) -> bool:
    """Whether an attribute of a transform is more than a number."""
    return any(getattr(value, "ndim", 0) for value in vars(transform).values())


def _changed_parameters(dist: Any, change: Callable[[Any, bool], Any]) -> dict[str, Any]:
    """Return the parameters of a distribution after a change; see `rebuild`."""
    batch = tuple(dist.batch_shape)
    equivalent = [key for key in PREFERRED if key in dist.arg_constraints]
    superfluous = equivalent[1:]
    parameters = {}
    for key, constraint in dist.arg_constraints.items():
        if key in superfluous:
            continue
        value = getattr(dist, key)
        event_dim = _optional_attribute(constraint, "event_dim") or 0
        has_batch_dims = np.ndim(value) - event_dim == len(batch)
        by_row = has_batch_dims and tuple(value.shape)[:1] == batch[:1]
        parameters[key] = change(value, by_row)
    return parameters


def closed_form(dist: object, layout: Layout | None) -> Law | None:
    """Return the closed form of a distribution, or None; a discrete one must have one."""
    if is_discrete(dist):
        return _discrete_form(dist, layout)
    if layout is None:
        return None
    part = unwrap(dist)
    name = family_name(part)
    if name in COLUMNWISE:
        return COLUMNWISE[name](lambda key: _read_parameter(dist, part, key, layout))
    if name == "MultivariateNormal":
        factor = _read_matrices(part.scale_tril, layout)
        return families.Normal(
            mean=_read_parameter(dist, part, "loc", layout),
            cov=factor @ factor.transpose(0, 2, 1),
        )
    if name == "LowRankMultivariateNormal":
        cov = _read_matrices(part.covariance_matrix, layout)
        return families.Normal(
            mean=_read_parameter(dist, part, "loc", layout),
            cov=0.5 * (cov + cov.transpose(0, 2, 1)),
        )
    if name == "MixtureSameFamily":
        return _normal_mixture(part, layout)
    return None


def _read_matrices(tensor: object, layout: Layout) -> FloatArray:
    """Return a matrix for each row, (n, d_y, d_y)."""
    square = (layout.d_y, layout.d_y)
    return layout.spread(doubles(tensor), square, square)


def _normal_mixture(mixture: Any, layout: Layout) -> Law | None:
    """Return the closed form of a mixture of normals, or None for another one.

    Of several batch dimensions, columns are independent, and each is a mixture of its own.
    """
    components = unwrap(mixture.component_distribution)
    has_independent_columns = int(np.prod(layout.batch[1:])) > 1
    if family_name(components) != "Normal" or has_independent_columns:
        return None
    weights = doubles(_mixing_distribution(mixture).probs)
    count = weights.shape[-1]
    weights = layout.spread(weights, (count,), (count,))
    # Weights in single precision sum to 1 up to 1e-7 only.
    weights = weights / weights.sum(axis=1, keepdims=True)
    means = _read_parameter(mixture, components, "loc", layout, count)
    stds = _read_parameter(mixture, components, "scale", layout, count)
    return families.NormalMixture(weights, means, stds)


def _read_parameter(
    dist: object, part: object, key: str, layout: Layout, *components: int
) -> Parameter:
    """Return a parameter of `part`, (n, *components, d_y).

    Messages name it after `dist`, the distribution that the user wrote.
    """
    values = doubles(getattr(part, key))
    values = layout.spread(values, (*components, *layout.event), (*components, layout.d_y))
    return Parameter.from_value(f"{key} of {describe(dist)}", values, len(components))


def _mixing_distribution(mixture: Any) -> Any:
    """Return the weights of a MixtureSameFamily, named differently by torch and NumPyro."""
    return getattr(mixture, "mixture_distribution", None) or mixture.mixing_distribution


def _discrete_form(dist: object, layout: Layout | None) -> Discrete:
    """Return the law of a discrete distribution, or refuse it."""
    part = unwrap(dist)
    name = family_name(part)
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
    single = Layout.from_distribution(dist, layout.rows, 1)
    if name in CATEGORICAL:
        values = doubles(part.probs)
        classes = values.shape[-1:]
        values = single.spread(values, classes, classes)
        is_ordered = type(part).__name__ == "OrderedLogistic"
        return probabilities(values, ordered=is_ordered)

    def read(key: str) -> FloatArray:
        return single.spread(doubles(getattr(part, key)), single.event, (1,))[:, 0]

    return COUNTS[name](read)


def _optional_attribute(owner: object, name: str) -> Any:
    """Return an attribute, or None where a library has none or does not implement it."""
    try:
        return getattr(owner, name)
    except (NotImplementedError, AttributeError):
        return None


def _support_constraint(dist: object) -> Any:
    """Return the innermost constraint that describes the support, or None without one."""
    support = _optional_attribute(dist, "support")
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support


def is_discrete(dist: object) -> bool:
    """Whether the support of a distribution is discrete."""
    return bool(_optional_attribute(_support_constraint(dist), "is_discrete"))


def _read_bounds(dist: object) -> tuple[Any, Any] | None:
    """Return the ends of the support, or None for the whole line."""
    support = _support_constraint(dist)
    low = getattr(support, "lower_bound", None)
    high = getattr(support, "upper_bound", None)
    if low is not None or high is not None:
        return -math.inf if low is None else low, math.inf if high is None else high
    # Angles, whose support torch gives as the whole line.
    if family_name(unwrap(dist)) == "VonMises":
        return -math.pi, math.pi
    constraint = type(support).__name__.strip("_").lower()
    unbounded = ("real", "realvector", "dependent", "dependentproperty")
    if support is None or constraint in unbounded:
        return None
    raise UnsupportedModelError(
        f"{type(dist).__name__} lives on {support}, which is not an interval in each"
        " coordinate of y. Transform y to coordinates that can take any real value."
    )


def _without_validation(dist: Any) -> Any:
    """Return a copy of a distribution that accepts any value, however far out."""
    lenient = copy.copy(dist)
    lenient._validate_args = False
    for name in ("base_dist", "_component_distribution"):
        if hasattr(lenient, name):
            setattr(lenient, name, _without_validation(getattr(lenient, name)))
    return lenient


def check_distribution(dist: object) -> None:
    """Refuse what a model returned if it is not a distribution."""
    if not callable(getattr(dist, "log_prob", None)):
        shape = f" of shape {tuple(dist.shape)}" if hasattr(dist, "shape") else ""
        raise UnsupportedModelError(
            f"The model returned {type(dist).__name__}{shape}, and a distribution with"
            " log_prob(y) is needed, such as Categorical(logits=...). A log-density goes"
            " to condgof.from_log_prob."
        )


def check_rowwise(values: object, rows: int) -> Any:
    """Return a log-density with one number for each row, (rows,); (rows, 1) will do."""
    shape = tuple(getattr(values, "shape", ()))
    if shape not in ((rows,), (rows, 1)) or not hasattr(values, "reshape"):
        got = f"shape {shape}" if hasattr(values, "shape") else type(values).__name__
        advice = ""
        if len(shape) == 2:
            advice = " Is one of x and y of shape (n,) and the other of (n, 1)?"
        raise ShapeError(
            f"The log-density must have one number for each row, shape ({rows},), got"
            f" {got}.{advice}"
        )
    return values.reshape(rows)
