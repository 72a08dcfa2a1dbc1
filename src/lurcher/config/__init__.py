"""Settings: declared in `schema`, read by `loader` from files, environment and flags, limited for projects by `trust`.

Only what every query needs is imported here. `folders`, `user_file` and `trust` are imported where they are used.
"""

from lurcher.config.loader import apply, load, user_file_path, wants_colour
from lurcher.config.schema import PROJECT_FILE, PYPROJECT, Settings, sections

__all__ = [
    "PROJECT_FILE",
    "PYPROJECT",
    "Settings",
    "apply",
    "load",
    "sections",
    "user_file_path",
    "wants_colour",
]
