"""python: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import graph, leads

SAMPLES = {
    "python": Sample(
        source='''
"""Module words."""
LIMIT = 10
_cache: dict = {}
type Pair = tuple[int, int]
first, second = 1, 2
one = other = make()
try:
    import fast
except ImportError:
    fast = None
if DEBUG:
    level = 1
else:
    level: int = 2

@decorate(1)
class Outer(Base):
    """Class words."""
    RED = 1
    size: int
    made = _maker("made")
    class Inner:
        def method(self): ...
    def __init__(self): pass
    async def _hidden(self, a: int = 1) -> str:
        """Method words."""
        local = 1

def top():
    def nested(): pass
''',
        definitions="""
constant LIMIT
-variable _cache
type Pair
variable first
variable second
variable one
variable other
variable fast
variable level
variable level
class Outer
constant Outer.RED
field Outer.size
field Outer.made
class Outer.Inner
method Outer.Inner.method
constructor Outer.__init__
-method Outer._hidden
function top
function top.nested
""",
        signatures={
            "_hidden": "async def _hidden(self, a: int = 1) -> str",
            "Outer": "class Outer(Base)",
        },
        others=[
            ("x.y = 1\na[0] = 2\nclass A:\n    (b) = c.d = 1\n    def f(self): e = 1\n", ["class A", "method f"]),
        ],
        imports=[
            ("import a.b as c, d", [("a.b", (), "import"), ("d", (), "import")]),
            ("from a.b import c as d, e", [("a.b", ("c", "e"), "from")]),
            ("from ..p import (\n  y,\n  z,\n)", [("..p", ("y", "z"), "from")]),
            ("from . import *", [(".", ("*",), "from")]),
            ("def f():\n    if x:\n        from a import b\n", [("a", ("b",), "from")]),
            ("from __future__ import annotations", []),
            ("x = 'import a'\n# import b\n'''\nimport c\n'''", []),
            ("from a \\\n    . b import c", [("a.b", ("c",), "from")]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_absolute_and_relative_imports() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/a.py": "import pkg.sub.c\nfrom . import b\nfrom .sub import c\nfrom .sub.d import x\n",
        "pkg/b.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/c.py": "from ..b import y\nfrom ... import nothing\n",
        "pkg/sub/d.py": "from .. import a, z\n",
    }
    assert leads(files, "pkg/a.py") == {"pkg/b.py": 1, "pkg/sub/c.py": 1, "pkg/sub/d.py": 1}
    assert leads(files, "pkg/sub/c.py") == {"pkg/b.py": 1}
    assert leads(files, "pkg/sub/d.py") == {"pkg/a.py": 1, "pkg/__init__.py": 1}


def test_names_go_to_the_file_they_lead_to() -> None:
    files = {"p/__init__.py": "", "p/m.py": "", "use.py": "from p import m, Thing\n"}
    assert {(edge.target, edge.names) for edge in graph(files).edges()} == {("p/m.py", ("m",)), ("p/__init__.py", ("Thing",))}


def test_a_name_that_the_package_binds_itself_is_not_its_module() -> None:
    files = {
        "p/__init__.py": "from .run import run\nfrom . import plain\nfrom p import own\n",
        "p/run.py": "",
        "p/plain.py": "",
        "p/own.py": "",
        "use.py": "from p import run, plain, own\n",
    }
    assert leads(files, "use.py") == {"p/__init__.py": 1, "p/plain.py": 1, "p/own.py": 1}


def test_source_roots_are_inferred_or_declared() -> None:
    files = {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": "",
        "tests/test_a.py": "from pkg import a\nimport other.b\nimport third.c\n",
        "code/py/other/__init__.py": "",
        "code/py/other/b.py": "",
        "more/third/__init__.py": "",
        "more/third/c.py": "",
        "pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["code/py"]\n',
    }
    assert leads(files, "tests/test_a.py") == {"src/pkg/a.py": 1, "code/py/other/b.py": 1, "more/third/c.py": 0.5}
    del files["pyproject.toml"]
    files["setup.cfg"] = "[options]\npackage_dir =\n    =code/py\n"
    assert leads(files, "tests/test_a.py")["code/py/other/b.py"] == 1


def test_projects_of_one_tree_prefer_their_own() -> None:
    files = {
        f"{project}/{path}": text
        for project in ("one", "two")
        for path, text in {
            "setup.py": "",
            "src/shared/__init__.py": "",
            "src/shared/m.py": "",
            "bin/run.py": "import shared.m",
        }.items()
    }
    assert leads(files, "one/bin/run.py") == {"one/src/shared/m.py": 1}
    assert leads(files, "two/bin/run.py") == {"two/src/shared/m.py": 1}


def test_namespace_packages_and_stubs() -> None:
    files = {
        "ns/deep/mod.py": "",
        "ns/only.pyi": "",
        "ns/both.py": "",
        "ns/both.pyi": "",
        "use.py": "from ns.deep import mod\nimport ns.only, ns.both",
    }
    assert leads(files, "use.py") == {"ns/deep/mod.py": 1, "ns/only.pyi": 1, "ns/both.py": 1}


def test_the_standard_library_is_not_a_file_of_the_same_name_elsewhere() -> None:
    files = {
        "tools/types.py": "",
        "pkg/__init__.py": "",
        "pkg/json.py": "",
        "pkg/a.py": "import json, types, numpy\nfrom os import path\n",
    }
    assert leads(files, "pkg/a.py") == {}
    files["tools/run.py"] = "import types\n"
    assert leads(files, "tools/run.py") == {"tools/types.py": 1}


def test_a_module_that_is_not_there_leads_nowhere() -> None:
    files = {"p/__init__.py": "", "use.py": "import p.missing\nfrom q import r\nfrom .... import far\nfrom p.no import x\n"}
    assert leads(files, "use.py") == {}


def test_broken_configuration_is_as_good_as_none() -> None:
    files = {"src/p/__init__.py": "", "t/x.py": "import p", "pyproject.toml": "[[[", "setup.cfg": "]no\n=", "tox.ini": "\0"}
    assert leads(files, "t/x.py") == {"src/p/__init__.py": 1}
    files["pyproject.toml"] = "tool = 3\n"
    assert leads(files, "t/x.py") == {"src/p/__init__.py": 1}
    files["pyproject.toml"] = "[tool]\nsetuptools = []\npytest.ini_options.pythonpath = [1, '../..']\npoetry.packages = 'x'\n"
    assert leads(files, "t/x.py") == {"src/p/__init__.py": 1}
