"""What residuals and test functions of every kind of y have in common.

*Residuals* are y compared with its law, one class for each kind of y; nothing after them
asks which kind that is. *Test functions* ξ (n, q) are functions of residuals whose mean
given x is 0 if the law is true. A *resampler* draws y from the law again, and with it ξ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.kernels import Kernel, ResponseKernel
from condgof.sample import Column, Seed

if TYPE_CHECKING:
    from condgof.laws import Law
    from condgof.sample import Sample


#: Stretches of rows that are examined for autocorrelation where not all rows are at hand.
#: Several of them, far from each other, see dependence that comes and goes.
STRETCHES = 4
#: Most test functions that meet fine functions of x, of which there are many.
MOST_FOR_DETAILS = 16


class DependenceValues(NamedTuple):
    """Numbers of n rows whose autocorrelation tells how rows depend on each other."""

    #: Of mean 0 given x under the law, (n, k).
    values: FloatArray
    #: How far rows are from what was expected, whatever the direction, of mean 0 given x,
    #: (n, s); None where the absolute values of `values` serve.
    sizes: FloatArray | None = None
    #: Whether `values` is one series of vectors, not k series of numbers.
    is_vector: bool = False
    #: Whether no row can be an outlier, so that values need not be clipped.
    is_bounded: bool = False

    def take(self, rows: slice) -> DependenceValues:
        """Return some rows."""
        sizes = None if self.sizes is None else self.sizes[rows]
        return self._replace(values=self.values[rows], sizes=sizes)


class Stretch(NamedTuple):
    """Consecutive rows, of which autocorrelation is examined."""

    rows: DependenceValues
    x: FloatArray | None = None  #: Covariates, (n, d); None where they are not at hand.


class TestFunctionBlock(NamedTuple):
    """Some columns of ξ that belong together: the unit of which statistics are made."""

    name: str  #: What results call the block.
    bandwidth: float | None = None  #: Of the kernel on y, where there is one.
    #: Whether it is one of the scales at which y is compared; single functions are not.
    is_scale: bool = True
    #: Whether a result names the scale: a discrete y is compared in several ways.
    is_named: bool = False
    columns: slice = slice(0, 0)  #: Which columns of ξ; set by `side_by_side`.

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.columns.stop - self.columns.start)


class SizedBlock(NamedTuple):
    """A block whose columns are not known yet, but how many there are."""

    block: TestFunctionBlock
    size: int  #: The number of columns of ξ.


def side_by_side(blocks: Iterable[SizedBlock]) -> tuple[TestFunctionBlock, ...]:
    """Give blocks their columns, one after the other."""
    placed = []
    start = 0
    for block, size in blocks:
        placed.append(block._replace(columns=slice(start, start + size)))
        start += size
    return tuple(placed)


class Resampled(NamedTuple):
    """Test functions of m samples in which y was drawn from the law again."""

    values: AnyArray  #: ξ, (n, m, q).
    additional: FloatArray  #: The additional statistics of each sample, (names, m).
    #: What y was drawn as, from which other functions of y can be computed, (n, m) or (n,
    #: m, d_y): normal scores; times since entry; angles; of a discrete y uniform numbers,
    #: by which the first cell is drawn whose cumulative probability is larger.
    drawn: AnyArray


class Resampler(Protocol):
    """Resamples y of n rows from the law: an exact null distribution of any statistic."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of statistics that are no sums over rows, such as that of outliers."""

    @property
    def observed(self) -> FloatArray:
        """These statistics of the data, (names,)."""

    def draw(self, rng: np.random.Generator, m: int) -> Resampled:
        """Draw y of all rows m times."""


class TestFunctions(ABC):
    """Functions ξ (n, q) of residuals, of mean 0 given x under the law."""

    #: Whether the null distribution comes from resampling y, where the residuals allow it
    #: (`Residuals.can_resample`). In all other cases it comes from random signs.
    resampled: bool = False
    #: E[ξξᵀ] under the law, (q, q), where it is the same whatever x is.
    covariance: FloatArray | None = None

    @property
    @abstractmethod
    def blocks(self) -> tuple[TestFunctionBlock, ...]:
        """Which columns belong together, in order and without gaps."""

    @abstractmethod
    def evaluate(self, residuals: Any) -> AnyArray:
        """Return ξ (n, q) of residuals of the kind that the functions are made for."""

    @abstractmethod
    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        """Return the kernel on y that a result shows for a block."""

    def additional_values(self, x: FloatArray, residuals: Any) -> FloatArray | None:
        """Return one more function of single rows, (n,), or None where there is none.

        Its sum over rows is a further statistic, tested one-sidedly, where rows get random
        signs.
        """
        return None

    @property
    def width(self) -> int:
        """The number of test functions, q."""
        return int(self.blocks[-1].columns.stop)

    @property
    def independent_groups(self) -> Sequence[IntArray]:
        """Groups of columns of ξ between which most of the covariance is 0.

        All columns are in one group each. By default there is one group.
        """
        return (np.arange(self.width),)

    @property
    def blocks_for_columns(self) -> slice:
        """The blocks that meet single columns, categories and locations of x: few do."""
        return slice(0, len(self.blocks))

    @property
    def blocks_for_pairs(self) -> slice:
        """The blocks that meet products of two columns of x."""
        return self.blocks_for_columns

    @property
    def blocks_for_details(self) -> slice:
        """The blocks that meet fine functions of x, of which there are many.

        These are waves, triples, cells of two columns and whole columns of categories. They
        meet what pairs meet, or nothing where that is too much work.
        """
        blocks = self.blocks[self.blocks_for_pairs]
        if sum(block.size for block in blocks) > MOST_FOR_DETAILS:
            return slice(0, 0)
        return self.blocks_for_pairs

    @property
    def blocks_for_shapes(self) -> slice:
        """The blocks that are the shape of y, beside its mean and spread; perhaps none."""
        return slice(0, 0)


class Residuals(ABC):
    """y compared with its law at n rows.

    One subclass for each kind of y. `residuals_of` chooses it, and nothing else knows how
    kinds differ: what a later step does for a kind is a method here, or is registered for
    the class there (`functools.singledispatch`), and a class that is not registered raises.
    """

    #: What a result says that y was standardised by; None where it was not.
    standardized_by: str | None = None
    #: What y is compared as, where a test needs y itself and has to refuse.
    compared_as: str = "normal scores, because it has no score"
    #: What a reader of any test of such residuals should know.
    remark: str | None = None
    #: Whether a resampled null knows the spread near a single location, where signs of a
    #: few rows may by chance see next to none.
    tests_locations: bool = False
    #: What law or numbers a reader should know of, a sentence each.
    notes: tuple[str, ...] = ()

    @classmethod
    @abstractmethod
    def from_law(cls, law: Law, sample: Sample) -> Residuals:
        """Compare the y of a sample with its law."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def row_width(self) -> int:
        """How many numbers a row has: what is sent to a worker."""

    @property
    def cell_count(self) -> int:
        """How many probabilities the law has for each row; 1 where y is continuous."""
        return 1

    @abstractmethod
    def take(self, rows: slice | IntArray) -> Self:
        """Return some rows."""

    def by_model(self) -> Sequence[Residuals]:
        """Return the residuals under each model that they are of: most are of one."""
        return [self]

    @abstractmethod
    def ready_kernel(self, kernel: object, seed: Seed) -> ResponseKernel:
        """Make a user's kernel on y ready: its bandwidth known, its kind checked."""

    @abstractmethod
    def kernel_test_functions(
        self,
        kernel: ResponseKernel,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool,
    ) -> TestFunctions:
        """Return ξ with h(i, j) ≈ ξ_i·ξ_j for the Stein kernel h of one kernel on y.

        Where that takes landmarks, they leave a share `precision` of the trace, and are at
        most `cap`; with `single` all is in single precision.
        """

    @abstractmethod
    def test_functions(self, seed: Seed) -> TestFunctions:
        """Return the test functions of the adaptive test."""

    @property
    def can_resample(self) -> bool:
        """Whether y of these rows can be drawn from the law again."""
        return False

    @property
    def can_resample_streams(self) -> bool:
        """Whether y can be resampled, or a limit stands for it, if rows come in pieces."""
        return self.can_resample

    @abstractmethod
    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        """Return what draws y from the law again, or None where nothing can."""

    @abstractmethod
    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        """Return what a frame of the rows shows of the comparison, (n,) each, by name."""

    def content_values(self, y: FloatArray) -> FloatArray:
        """Return y (n, d_y) as it is hashed: the same for values that mean the same."""
        return y

    @abstractmethod
    def dependence_values(self) -> DependenceValues:
        """Return numbers of mean 0 given x that tell autocorrelation of rows."""

    def stretches(self, size: int) -> list[slice]:
        """Return the stretches of consecutive rows that tell autocorrelation.

        All rows where their numbers are soon computed, else a few stretches of `size` rows.
        """
        return [slice(0, self.n)]

    def details(self) -> dict[str, Any]:
        """What the details of a result say of the coordinates of y."""
        return (
            {}
            if self.standardized_by is None
            else {"standardized_by": self.standardized_by}
        )


def few_stretches(n: int, size: int) -> list[slice]:
    """Return `STRETCHES` of at most `size` consecutive rows of n, which do not overlap."""
    starts = np.unique(np.linspace(0, max(n - size, 0), STRETCHES).astype(np.int64))
    ends = np.append(starts[1:], n)
    return [
        slice(int(start), int(min(start + size, end)))
        for start, end in zip(starts, ends, strict=True)
    ]


class Neighbours(NamedTuple):
    """Where rows lie in x, for a resampler that has to know which are near each other."""

    x: FloatArray  #: Covariates as kernels compare them, (n, d).
    columns: tuple[Column, ...]  #: What the columns of x are.
    seed: Seed


def named_columns(
    name: str, y_names: Sequence[str], values: AnyArray
) -> dict[str, AnyArray]:
    """Name the columns of values (n, d_y), after those of y where there are several."""
    if len(y_names) == 1:
        return {name: values[:, 0]}
    return {f"{name}_{y_name}": values[:, j] for j, y_name in enumerate(y_names)}
