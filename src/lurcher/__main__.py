"""`python -m lurcher` is `lurcher`."""

from __future__ import annotations

import sys

from lurcher.surfaces.cli import main

if __name__ == "__main__":
    sys.exit(main())
