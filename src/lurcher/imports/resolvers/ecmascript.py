"""JavaScript and TypeScript: relative files, `tsconfig.json` paths, packages of the tree by name, `#imports`."""

from __future__ import annotations

from lurcher.imports.resolvers.packages import Packages
from lurcher.imports.resolvers.tree import Tree, folder_of, joined
from lurcher.imports.resolvers.tsconfig import Configurations
from lurcher.imports.types import Import, Target

_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".d.ts", ".mts", ".cts", ".mjs", ".cjs")
_SUFFIXES_IN_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".d.ts")
_WRITTEN_FOR = {
    ".js": (".ts", ".tsx", ".js", ".jsx", ".d.ts"),
    ".jsx": (".tsx", ".jsx", ".d.ts"),
    ".mjs": (".mts", ".mjs", ".d.mts"),
    ".cjs": (".cts", ".cjs", ".d.cts"),
}
"""What a suffix may stand for: sources name the file that will be compiled from them. What runs comes before declarations."""
_CODE = frozenset({"javascript", "typescript", "tsx"})


class EcmascriptResolver:
    def __init__(self, tree: Tree) -> None:
        self._code = frozenset(path for path, language, _ in tree.files if language in _CODE)
        self._packages = Packages(tree, self.file)
        self._configurations = Configurations(tree)
        self._answers: dict[tuple[str, str, bool], tuple[Target, ...]] = {}
        self._files: dict[tuple[str, bool], str | None] = {}

    def resolve(self, path: str, found: Import) -> tuple[Target, ...]:
        script = path.endswith(("js", "jsx"))
        key = (folder_of(path), found.spec, script)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._resolve(key[0], found.spec, script)
        return answer

    def _resolve(self, folder: str, spec: str, script: bool) -> tuple[Target, ...]:
        spec = spec.partition("?")[0]
        if spec.startswith(".") and (spec in (".", "..") or spec.startswith(("./", "../"))):
            return self._exactly(joined(folder, spec), script)
        if not spec or spec.startswith("/") or ":" in spec:
            return ()
        for place in self._configurations.places(folder, spec):
            answer = self._exactly(place, script)
            if answer:
                return answer
        return self._packages.resolve(folder, spec)

    def _exactly(self, place: str | None, script: bool) -> tuple[Target, ...]:
        file = self.file(place, script) if place is not None else None
        return (Target(file, 1.0),) if file is not None else ()

    def file(self, place: str, script: bool = False) -> str | None:
        """The file that a path without or with a suffix stands for, or the index of a folder."""
        key = (place, script)
        if key not in self._files:
            self._files[key] = self._module(place, script) or self._folder(place, script)
        return self._files[key]

    def _module(self, place: str, script: bool) -> str | None:
        dot = place.rfind(".")
        written = place[dot:] if dot > place.rfind("/") else ""
        if script and place in self._code:
            return place
        for suffix in _WRITTEN_FOR.get(written, ()):
            if (candidate := place[:dot] + suffix) in self._code:
                return candidate
        if place in self._code:
            return place
        for suffix in _SUFFIXES_IN_SCRIPTS if script else _SUFFIXES:
            if (candidate := place + suffix) in self._code:
                return candidate
        return None

    def _folder(self, place: str, script: bool) -> str | None:
        """`package.json` of the folder decides, else its `index`."""
        main = self._packages.main(place)
        if main is not None:
            return main
        index = f"{place}/index" if place else "index"
        return self._module(index, script)


def make(tree: Tree) -> EcmascriptResolver:
    return EcmascriptResolver(tree)
