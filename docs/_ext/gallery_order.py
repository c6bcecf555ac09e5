"""Pages of the gallery in the order of its table."""

import re
from pathlib import Path

TABLE = Path(__file__).parents[1] / "gallery" / "GALLERY_HEADER.rst"


class ByTable:
    """A sort key of sphinx-gallery: a page that the table does not name is an error."""

    def __init__(self, src_dir):
        self.order = re.findall(r":doc:`(\w+)`", TABLE.read_text())

    def __call__(self, filename):
        """Return the place of a file."""
        return self.order.index(Path(filename).stem)

    def __repr__(self):
        return "ByTable"  # the same in every build, or all pages would be made anew
