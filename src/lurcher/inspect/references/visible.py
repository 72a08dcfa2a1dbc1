"""The definitions of other files that a bare name may mean: by imports, by the package, and by namespaces."""

from __future__ import annotations

from lurcher.inspect.references.program import NAMESPACES, Program, SourceFile, Symbol
from lurcher.inspect.references.rules import IMPLICIT, PACKAGES, select_visible
from lurcher.inspect.references.values import EXTERNAL, Value, choose
from lurcher.languages.parsed_file import PACKAGE

_MOST_REEXPORTS = 200
"""Files that a name is followed through: as many are on the stack at most."""


class VisibleNames:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._imported: dict[int, set[int]] = {}
        self._used: dict[tuple[int, str], list[Value]] = {}

    def imported(self, file: SourceFile, name: str, depth: int) -> list[Value] | None:
        """What an import that names a definition binds it to: not what the package calls so."""
        for entry in file.imports if file.language in PACKAGES and file.language != "go" else ():
            if entry.kind != PACKAGE and name in entry.names:
                targets = [target for target, _ in self._program.resolve_import(file, entry)]
                symbols = [symbol for target in targets for symbol in target.named(name) if not symbol.is_member]
                if file.language == "php":
                    symbols = [symbol for symbol in symbols if symbol.definition.qualified == entry.spec.replace("\\", ".")]
                if symbols or not targets:
                    return choose(symbols, "import") if symbols else [EXTERNAL]
        return self.named(file, name, depth)

    def in_namespace(self, file: SourceFile, name: str, before: str) -> list[Value]:
        """What a name means that is written with its namespace in PHP, which imports may give another name."""
        first, _, rest = before.rstrip("\\").partition("\\")
        own = next((entry.spec + "\\" for entry in file.imports if entry.kind == PACKAGE), "")
        base = next((entry.spec for entry in file.imports if first in entry.names and entry.kind != PACKAGE), own + first)
        container = ".".join(part for part in (base if first else "", rest) if part).replace("\\", ".")
        found = [symbol for symbol in self._program.named(name) if symbol.definition.container == container]
        return choose(found, "import") if found else [EXTERNAL]

    def _used_names(self, file: SourceFile, name: str) -> list[Value]:
        """What the `use` declarations of a Rust file bind a name to, through those that re-export it."""
        key = file.number, name
        known = self._used.get(key)
        if known is None:
            known = self._used[key] = [Value("symbol", symbol, how="import") for symbol in self._follow(file, name, {key})]
        return known

    def _follow(self, file: SourceFile, name: str, seen: set[tuple[int, str]]) -> list[Symbol]:
        """The first definitions that are reached: modules that re-export each other are looked at once."""
        for entry in file.imports if len(seen) < _MOST_REEXPORTS else ():
            if entry.kind != "use" or not (name in entry.names or "*" in entry.names):
                continue
            taken = name if "*" in entry.names else entry.spec.rpartition("::")[2]
            for target, _ in self._program.resolve_import(file, entry):
                key = target.number, taken
                if target is not file and key not in seen:
                    seen.add(key)
                    symbols = target.top_level(taken) or self._follow(target, taken, seen)
                    if symbols:
                        return symbols
        return []

    def named(self, file: SourceFile, name: str, depth: int) -> list[Value] | None:
        """Definitions of a name in the files that a file imports, or that are in its package."""
        used = self._used_names(file, name) if file.language == "rust" else []
        if used:
            return used
        namesakes = self._program.namesakes(name, file.ecosystem)
        if file.language in NAMESPACES:
            named = [symbol for symbols in namesakes.by_file.values() for symbol in symbols]
            if file.language == "cpp":
                named = [symbol for symbol in named if symbol.file.number in self._imported_files(file)]
            visible = select_visible(file, named)
            if visible:
                return choose(visible, "import" if file.language == "cpp" else "package")
            return [EXTERNAL] if file.language == "php" or not namesakes.defined else None
        if file.language in PACKAGES:
            near = namesakes.by_folder.get(file.folder)
            if near:
                return choose(near, "package")
        if namesakes.by_file:
            imported = self._imported_files(file)
            seen = [symbol for number, symbols in namesakes.by_file.items() if number in imported for symbol in symbols]
            if seen:
                return choose(seen, "import")
        # What none of them defines is outside of the tree; a member may be meant where classes see theirs without a receiver.
        if not namesakes.defined:
            return [EXTERNAL]
        return None if file.language in IMPLICIT or namesakes.by_file else [EXTERNAL]

    def _imported_files(self, file: SourceFile) -> set[int]:
        known = self._imported.get(file.number)
        if known is None:
            known = {target.number for entry in file.imports for target, _ in self._program.resolve_import(file, entry)}
            self._imported[file.number] = known
        return known

    def inside(self, namespace: Symbol, name: str) -> list[Value]:
        """The definitions of a name in a namespace, whichever file they are in."""
        container, ecosystem = namespace.definition.qualified, namespace.file.ecosystem
        found = [symbol for symbol in self._program.named(name) if symbol.definition.container == container]
        return [Value("symbol", symbol, how="class") for symbol in found if symbol.file.ecosystem == ecosystem]
