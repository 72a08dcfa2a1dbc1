"""ruby: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "ruby": Sample(
        source="""
module Geo::Flat
  # words
  class Shape < Base
    LIMIT = 10
    attr_reader :name, :title
    def initialize(a); end
    def self.make(x) = 1
    def ==(other); end
    def _hidden; end
    class << self
      def built; end
    end
  end
end
def top; end
class A::B; end
Point = Struct.new(:x)
ONE, TWO = 1, 2
define_method(:dynamic) { }
""",
        definitions="""
module Geo.Flat
class Geo.Flat.Shape
constant Geo.Flat.Shape.LIMIT
field Geo.Flat.Shape.name
field Geo.Flat.Shape.title
constructor Geo.Flat.Shape.initialize
method Geo.Flat.Shape.make
method Geo.Flat.Shape.==
-method Geo.Flat.Shape._hidden
method Geo.Flat.Shape.built
function top
class A.B
class Point
field Point.x
constant ONE
constant TWO
function dynamic
""",
        signatures={
            "Flat": "module Geo::Flat",
            "make": "def self.make(x)",
        },
        others=[
            ("attr_reader *names, :a, :b\nvalidates :c\n", ["field a", "field b"]),
            ("define_method(:d) { 1 }\ndefine_method(name, :e)\nx = 1\nX = 1\n", ["function d", "constant X"]),
        ],
        imports=[
            (
                "require 'a/b'\nrequire_relative \"c\"\nload 'd.rb'\nautoload :E, 'e'\nrequire \"x#{y}\"\nautoload :F\n",
                [("a/b", (), "require"), ("c", (), "relative"), ("d.rb", (), "load"), ("e", ("E",), "autoload")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_ruby_load_paths() -> None:
    files = {
        "lib/gem.rb": "require 'gem/version'\nautoload :Core, 'gem/core'\nrequire 'json'\n",
        "lib/gem/version.rb": "",
        "lib/gem/core.rb": "",
        "app/models/user.rb": "require_relative '../jobs/mail'\nrequire_relative './gone'\n",
        "app/jobs/mail.rb": "",
        "spec/user_spec.rb": "require 'spec_helper'\nrequire 'user'\nload 'Rakefile'\nrequire './lib/gem'\nrequire '/etc/x'",
        "spec/spec_helper.rb": "",
        "Rakefile": "require 'bundler'\nload 'lib/gem.rb'\n",
    }
    assert leads(files, "lib/gem.rb") == {"lib/gem/version.rb": 1, "lib/gem/core.rb": 1}
    assert leads(files, "app/models/user.rb") == {"app/jobs/mail.rb": 1}
    assert leads(files, "spec/user_spec.rb") == {"spec/spec_helper.rb": 1, "app/models/user.rb": 1, "Rakefile": 1}
    assert leads(files, "Rakefile") == {"lib/gem.rb": 1}


def test_ruby_gems_of_one_tree_prefer_their_own() -> None:
    files = {f"{gem}/lib/shared.rb": "" for gem in ("one", "two")} | {"two/test/t.rb": "require 'shared'"}
    assert leads(files, "two/test/t.rb") == {"two/lib/shared.rb": 0.8}
