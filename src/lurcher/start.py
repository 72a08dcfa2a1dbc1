"""The command as a process: the modules of a question come out of one file.

Python looks for each module in several places, opens a file for it, reads and checks that, which for a hundred modules takes
longer than finding the answer does. So what a question has loaded is kept together, in the folder where Python keeps each
compiled module, and by Python's rule: it counts as long as the source has the size and the time that it was compiled from.
Where Python keeps nothing, nothing is kept (`-B`), and what cannot be read or written is done without. A file that fails its
checksum is passed over and written anew: damaged code would break every command, and bring the interpreter down at worst.

Python's own way of making a module out of its code takes its time too. What two questions have needed is made in the order in
which it was finished then: whoever asks for one of these modules finds those before it made, and so finds what it imports.
"""

from __future__ import annotations

import _thread
import gc
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from mmap import ACCESS_READ, mmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    Entry = tuple[bool, int, int, memoryview | bytes]
    """Whether a module is a package, time and size of its source as the compiled one has them, and the compiled one."""

FOLDER = os.path.dirname(os.path.abspath(__file__))
_HEAD = b"lurcher 4 " + MAGIC_NUMBER
_SUMMED = len(_HEAD) + 4
"""Where that begins which the checksum is of; it stands before it."""
_TABLE = _SUMMED + 8
"""Where the table of what is in the file begins; its length stands before it."""
_CODE = 16
"""Where a compiled module has its code; before are the version, its flags, time and size of its source, four bytes each."""
_BY_TIME = bytes(4)
_LARGEST = 16_000_000


def main() -> int:
    """The command that this process was started for."""
    gc.disable()  # while modules are loaded, of which none goes away
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # our arrays are small: a pool of threads costs more than it gives
    bundle = Bundle(_place(), ordered=sys.argv[1:2] == ["search"])
    sys.meta_path.insert(0, bundle)
    from lurcher.surfaces.cli import main as command

    status = command()
    # A question with the usual flags: others are rare, or take longer anyway.
    if status == 0 and "lurcher.engine" in sys.modules and "argparse" not in sys.modules:
        if "lurcher.indexing.build" not in sys.modules:  # on a tree that had not changed: what writes is not for every question
            bundle.keep()
        _leave(status)
    return status


def _leave(status: int) -> None:
    """End here: what a question has made need not be taken apart piece by piece, which takes a millisecond or two."""
    if sys.flags.inspect or sys.flags.interactive or sys.gettrace() or sys.getprofile():
        return
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # as Python itself says it
    os._exit(status)


def _place() -> str:
    """The file for this Python; none where it keeps compiled modules elsewhere, or not at all."""
    if not sys.implementation.cache_tag or sys.pycache_prefix:
        return ""
    return os.path.join(FOLDER, "__pycache__", f"question.{_tag()}.bundle")


def _tag() -> str:
    """What compiled modules of this Python have in their names."""
    optimised = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
    return f"{sys.implementation.cache_tag}{optimised}"


class Bundle:
    """Finds modules of this package in one file, as a finder of `sys.meta_path`."""

    def __init__(self, place: str, *, ordered: bool = True) -> None:
        """Where a question is `ordered`, modules are made that it will ask for."""
        self._place = place
        self._entries: dict[str, Entry]
        self._entries, self._order = _read(place)
        self._places = {name: number for number, name in enumerate(self._order)} if ordered else {}
        self._made = 0
        self._finished: list[str] = []

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        # Beside other threads it is Python that sees to it that none finds a module half made.
        if self._made < self._places.get(name, 0) and not _thread._count():
            self._make(self._places[name])
        return self._spec(name)

    def _spec(self, name: str) -> ModuleSpec | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        package, *stamp, code = entry
        source = _source(name, package)
        if stamp != _stamp(source):
            del self._entries[name]
            self._order = ()
            self._places = {}
            return None
        # As `spec_from_file_location` makes it, which takes longer, since it knows nothing beforehand.
        spec = ModuleSpec(name, _Loader(name, source, code, self._finished), origin=source, is_package=package)
        folder, _, file = source.rpartition(os.sep)
        if package:
            spec.submodule_search_locations = [folder]
        spec.has_location = True
        spec.cached = f"{folder}{os.sep}__pycache__{os.sep}{file[:-3]}.{_tag()}.pyc"
        return spec

    def _make(self, end: int) -> None:
        """Makes what comes before that place, as far as it goes; where it does not, Python goes on and says why."""
        while self._made < end:
            name = self._order[self._made]
            self._made += 1
            if name.rpartition(".")[0] not in sys.modules:
                continue  # its package imports it
            spec = None if name in sys.modules else self._spec(name)
            if spec is None:
                if not self._places:  # one of them has changed, and what it needs may have too
                    return
                continue
            try:
                _make(spec)
            except Exception:
                sys.modules.pop(name, None)
                self._places = {}
                return

    def keep(self) -> None:
        """Adds what was loaded from elsewhere; without effect where there is nothing to add, or nothing can be written."""
        if sys.dont_write_bytecode or not self._place:
            return
        added = {}
        for name, module in sys.modules.items():
            if name.startswith("lurcher.") and name not in self._entries and name != __name__:
                entry = _compiled(getattr(module, "__spec__", None))
                if entry is not None:
                    added[name] = entry
        order = self._order or tuple(self._finished)
        if added or order != self._order:
            _write(self._place, {**self._entries, **added}, order)


def _make(spec: ModuleSpec) -> None:
    """What importing a module comes to, where nobody else can be importing it."""
    name, loader = spec.name, spec.loader
    module: Any = type(sys)(name)
    module.__spec__, module.__loader__, module.__file__, module.__cached__ = spec, loader, spec.origin, spec.cached
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    parent, _, own = name.rpartition(".")
    module.__package__ = spec.parent
    sys.modules[name] = module
    exec(loader.get_code(name), module.__dict__)  # type: ignore[union-attr]
    setattr(sys.modules[parent], own, module)


class _Loader(SourceFileLoader):
    """Has the code already, and tells what it was done with."""

    def __init__(self, name: str, source: str, code: memoryview | bytes, finished: list[str]) -> None:
        super().__init__(name, source)
        self._code = code
        self._finished = finished

    def get_code(self, name: str) -> Any:
        return marshal.loads(self._code)

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self._finished.append(module.__name__)


def _source(name: str, package: bool) -> str:
    path = os.path.join(FOLDER, *name.split(".")[1:])
    return os.path.join(path, "__init__.py") if package else path + ".py"


def _stamp(source: str) -> list[int] | None:
    """Time and size of a file, as compiled modules have them."""
    try:
        status = os.stat(source)
    except OSError:
        return None
    return [int(status.st_mtime) & 0xFFFF_FFFF, status.st_size & 0xFFFF_FFFF]


def _read(place: str) -> tuple[dict[str, Entry], tuple[str, ...]]:
    """What is in the file, and in which order modules can be made; they stay where they are until one is loaded."""
    try:
        with open(place, "rb") as handle:
            data = memoryview(mmap(handle.fileno(), 0, access=ACCESS_READ))
        if data[: len(_HEAD)] != _HEAD or len(data) > _LARGEST:
            return {}, ()
        if data[len(_HEAD) : _SUMMED] != _checksum(data[_SUMMED:]):
            return {}, ()
        first = _TABLE + int.from_bytes(data[_SUMMED:_TABLE], "little")
        table, order = marshal.loads(data[_TABLE:first])
        entries: dict[str, Entry] = {}
        for name, (package, time, size, start, end) in table.items():
            if not 0 <= start <= end <= len(data) - first:
                return {}, ()
            entries[name] = package, time, size, data[first + start : first + end]
        return entries, tuple([name for name in order if name in entries])
    except (OSError, ValueError, EOFError, TypeError, AttributeError):
        return {}, ()


def _checksum(data: memoryview | bytes) -> bytes:
    """The CRC-32 of some bytes; by the kernel, which a question loads anyway, where that is faster."""
    try:
        __import__("lurcher._kernel")
        kernel: Any = sys.modules["lurcher._kernel"]
        if not kernel.FAST_CRC32:
            raise ImportError
    except (ImportError, AttributeError):
        import zlib as kernel
    found: int = kernel.crc32(data)
    return found.to_bytes(4, "little")


def _write(place: str, entries: Mapping[str, Entry], order: tuple[str, ...]) -> None:
    table, codes, total = {}, [], 0
    for name, (package, time, size, code) in entries.items():
        table[name] = package, time, size, total, total + len(code)
        codes.append(code)
        total += len(code)
    head = marshal.dumps((table, order))
    summed = b"".join([len(head).to_bytes(8, "little"), head, *codes])
    draft = f"{place}.{os.getpid()}"
    try:
        with open(draft, "xb") as handle:
            handle.write(_HEAD + _checksum(summed) + summed)
        os.replace(draft, place)
    except OSError:
        from contextlib import suppress

        with suppress(OSError):
            os.unlink(draft)  # noqa: PTH108


def _compiled(spec: Any) -> Entry | None:
    """A module as Python has compiled and kept it; None where it has not, or goes by another rule than the source's time."""
    if spec is None or type(spec.loader) is not SourceFileLoader or not spec.cached:
        return None
    package = spec.submodule_search_locations is not None
    if spec.origin != _source(spec.name, package):
        return None
    try:
        with open(spec.cached, "rb") as handle:
            data = handle.read()
    except OSError:
        return None
    if data[:4] != MAGIC_NUMBER or data[4:8] != _BY_TIME:
        return None
    time, size = (int.from_bytes(data[at : at + 4], "little") for at in (8, 12))
    return package, time, size, data[_CODE:]
