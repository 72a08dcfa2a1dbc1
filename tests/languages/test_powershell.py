"""PowerShell: functions and classes, dot-sourced files and modules."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "powershell": Sample(
        source="""
#requires -Version 5
using module ./Other.psm1
using namespace System.IO
Import-Module ./util.psm1
. ./lib.ps1
. "$PSScriptRoot/more.ps1"
# words
$Limit = 10
$script:count = 0
<# block words #>
function Get-Thing {
  [CmdletBinding()]
  param([string]$Name, [int]$Size = 1)
  $local = 1
}
function Inner($a) { }
filter Only-Even { $_ }
class Shape : Base {
  [string] $Name
  static [int] $Count = 0
  hidden [int] $x
  Shape([string]$n) { $this.Name = $n }
  [int] Area([int]$a) { return 1 }
  static [Shape] Make() { return $null }
}
enum Color { Red; Green = 2
 Blue }
workflow Do-It { }
""",
        definitions="""
variable Limit
variable count
function Get-Thing
function Inner
function Only-Even
class Shape
field Shape.Name
field Shape.Count
-field Shape.x
constructor Shape.Shape
method Shape.Area
method Shape.Make
enum Color
enumerator Color.Red
enumerator Color.Green
enumerator Color.Blue
function Do-It
""",
        signatures={
            "Get-Thing": "function Get-Thing",
            "Inner": "function Inner($a)",
            "Area": "[int] Area([int]$a)",
            "Count": "static [int] $Count = 0",
        },
        imports=[
            (
                "using module ./Other.psm1\nusing namespace System.IO\nImport-Module ./util.psm1\n. ./lib.ps1\n"
                '. "$PSScriptRoot/more.ps1"\n& ./run.ps1\n# Import-Module ./no.psm1\n',
                [
                    ("./Other.psm1", (), "import"),
                    ("./util.psm1", (), "import"),
                    ("./lib.ps1", (), "include"),
                    ("./more.ps1", (), "include"),
                ],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_files_beside_the_script_and_modules_by_name() -> None:
    files = {
        "a/run.ps1": '. ./lib.ps1\n. "$PSScriptRoot\\Sub\\more.ps1"\nImport-Module Tools\nImport-Module Pester\n',
        "a/lib.ps1": "",
        "a/sub/more.ps1": "",
        "b/Tools.psm1": "",
        "b/Tools.psd1": "",
    }
    assert leads(files, "a/run.ps1") == {"a/lib.ps1": 1, "a/sub/more.ps1": 1, "b/Tools.psm1": 1}
