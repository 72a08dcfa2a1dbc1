"""elixir: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check

SAMPLES = {
    "elixir": Sample(
        source='''
defmodule Plug.Conn do
  @moduledoc """
  Module words.
  """
  defstruct [:scheme, port: 80]
  @timeout 5_000
  @type t :: integer
  @typep hidden :: integer
  @doc "Fetch words."
  @spec fetch(integer) :: integer
  def fetch(0), do: 0
  def fetch(a) when is_integer(a) do
    a
  end
  defp helper, do: 1
  defmacro build(x) do
    x
  end
  defguard is_small(a) when a == 1
  @callback init(x) :: integer
  defmodule Inner do
    def deep(), do: 1
  end
end
defprotocol Sized do
  def size(x)
end
defimpl Sized, for: Integer do
  def size(x), do: x
end
''',
        definitions="""
module Plug.Conn
field Plug.Conn.scheme
field Plug.Conn.port
-constant Plug.Conn.timeout
type Plug.Conn.t
-type Plug.Conn.hidden
function Plug.Conn.fetch
-function Plug.Conn.helper
macro Plug.Conn.build
macro Plug.Conn.is_small
function Plug.Conn.init
module Plug.Conn.Inner
function Plug.Conn.Inner.deep
interface Sized
function Sized.size
function Sized.size
""",
        signatures={
            "Conn": "defmodule Plug.Conn",
            "build": "defmacro build(x)",
        },
        others=[
            ("def area(x) when x > 0, do: x\ndef size, do: 1\ntype(x :: y)\n", ["function area", "function size"]),
            ("@opaque t :: {a}\n@callback go(t) :: t\n@other x\n@spec go\n", ["type t", "function go", "constant other"]),
            ("def()\ndefmodule() do\nend\n@type()\n", []),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)
