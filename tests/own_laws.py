"""Laws that a user writes: they keep their rows of x, and have one ability or two."""

from condgof.models import Law, Model
from condgof.sample import take_rows


class OfX(Law):
    """A law of rows of x; subclasses have what they need in `self.x` and `self.more`."""

    def __init__(self, x, *more):
        self.x = x
        self.more = more

    @property
    def rows(self):
        return len(self.x)

    def take(self, rows):
        return type(self)(take_rows(self.x, rows), *self.more)


def model_of(law, *more):
    """Return the model x → law(x, *more)."""
    return Model(lambda x: law(x, *more), law.__name__)
