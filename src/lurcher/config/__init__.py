"""Settings: declared in `schema`, read by `load` from files, environment and flags, limited for projects by `trust`.

Only what every query needs is imported here. `folders`, `user_file` and `trust` are imported where they are used.
"""

from lurcher.config.load import (
    PROJECT_FILE,
    PYPROJECT,
    apply,
    load,
    read_secret,
    user_file_path,
    wants_colour,
)
from lurcher.config.schema import Settings, sections

__all__ = [
    "PROJECT_FILE",
    "PYPROJECT",
    "Settings",
    "apply",
    "load",
    "read_secret",
    "sections",
    "user_file_path",
    "wants_colour",
]
