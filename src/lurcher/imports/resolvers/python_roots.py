"""Where a Python project says that its packages lie."""

from __future__ import annotations

from typing import Any

from lurcher.imports.resolvers.tree import Tree, at, folder_of, joined, strings

_CUSTOMARY = ("", "src", "lib", "python")
_OPTIONS = (("pytest", "pythonpath"), ("tool:pytest", "pythonpath"), ("options.packages.find", "where"))


def source_roots(tree: Tree) -> dict[str, str]:
    """Folders that are on the path, each with the folder of the project that puts it there; the tree's root is one."""
    roots: dict[str, str] = {}
    found: list[tuple[str, str]] = [(root, "") for root in _CUSTOMARY]
    for path in tree.configurations("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini"):
        project = folder_of(path)
        declared = list(_CUSTOMARY)
        if path.endswith("pyproject.toml"):
            declared += _pyproject(tree.toml(path))
        elif path.endswith((".cfg", ".ini")):
            ini = tree.ini(path)
            for section, option in _OPTIONS:
                declared += ini.get(section, option, fallback="").split()
            for line in ini.get("options", "package_dir", fallback="").splitlines():
                name, equals, folder = line.partition("=")
                if equals and not name.strip():
                    declared.append(folder.strip())
        found += [(root, project) for entry in declared if (root := joined(project, entry)) is not None]
    for root, project in found:
        if root in tree.folders and len(project) >= len(roots.get(root, "")):
            roots[root] = project
    return roots


def _pyproject(settings: dict[str, Any]) -> list[str]:
    tool = settings.get("tool")
    declared = strings(at(tool, "setuptools", "packages", "find", "where"))
    declared += strings(at(tool, "pytest", "ini_options", "pythonpath"))
    declared += strings(at(tool, "maturin", "python-source"))
    declared += strings(at(tool, "setuptools", "package-dir", ""))
    packages = at(tool, "poetry", "packages")
    if isinstance(packages, list):
        declared += [folder for entry in packages for folder in strings(at(entry, "from"))]
    declared += [folder_of(entry) for entry in strings(at(tool, "hatch", "build", "targets", "wheel", "packages"))]
    return declared
