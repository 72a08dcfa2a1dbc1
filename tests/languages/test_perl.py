"""Perl: packages to the next one, subroutines, constants, modules along folders."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "perl": Sample(
        source="""
#!/usr/bin/perl
package My::Shape;
use strict;
use parent 'Base';
use My::Util qw(a b);
require My::Other;
require "lib/x.pl";
do './y.pl';
our $VERSION = '1.0';
my $count = 0;
use constant LIMIT => 10;
use constant { A => 1, B => 2 };
# words
=pod

Doc words

=cut
sub new { my ($class) = @_; return bless {}, $class; }
sub _hidden($x) { 1 }
package My::Inner {
  sub go { 1 }
}
class Point { field $x; method area { 1 } }
has name => (is => 'ro');
my $f = sub { 1 };
our ($a, @b);
__END__
rest
""",
        definitions="""
module My.Shape
constant My.Shape.VERSION
constant My.Shape.LIMIT
constant My.Shape.A
constant My.Shape.B
function My.Shape.new
-function My.Shape._hidden
module My.Inner
function My.Inner.go
class Point
method Point.area
field name
variable a
variable b
""",
        signatures={
            "new": "sub new",
            "_hidden": "sub _hidden($x)",
            "VERSION": "our $VERSION = '1.0'",
            "Inner": "package My::Inner",
        },
        imports=[
            (
                "use strict;\nuse parent 'Base';\nuse My::Util qw(a b);\n"
                "require My::Other;\nrequire 'lib/x.pl';\n# use No::One;\n",
                [("Base", (), "use"), ("My::Util", ("a", "b"), "use"), ("My::Other", (), "require"), ("lib/x.pl", (), "load")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_modules_along_folders() -> None:
    files = {
        "bin/run.pl": "use My::Util;\nuse POSIX;\nrequire './conf.pl';\n",
        "bin/conf.pl": "",
        "lib/My/Util.pm": "package My::Util;\nuse base 'My::Base';\n",
        "lib/My/Base.pm": "",
        "other/Util.pm": "",
    }
    assert leads(files, "bin/run.pl") == {"lib/My/Util.pm": 1, "bin/conf.pl": 1}
    assert leads(files, "lib/My/Util.pm") == {"lib/My/Base.pm": 1}
