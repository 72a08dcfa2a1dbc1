"""lua: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check

SAMPLES = {
    "lua": Sample(
        source="""
local M = {}
local util = require("util")
function M.open(a) end
function M.deep.er(c) end
function Shape:area() end
local function hidden() end
M.close = function(x) return 1 end
local bound = function() end
function global() end
local handlers = { click = function() end, size = 1 }
return M
""",
        definitions="""
-variable M
method M.open
method M.deep.er
method Shape.area
-function hidden
method M.close
-function bound
function global
-variable handlers
function handlers.click
""",
        signatures={
            "close": "M.close = function(x)",
        },
        others=[
            ('local M = {}\nM.version = "1.0"\n', ["variable M", "variable version"]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)
