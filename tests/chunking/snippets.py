"""One small file per language, and what it defines: lines of `kind qualified-name`, private ones marked with a minus."""

from __future__ import annotations

SNIPPETS: dict[str, tuple[str, str]] = {}


def _add(language: str, source: str, expected: str) -> None:
    SNIPPETS[language] = (source.lstrip("\n"), expected)


_add(
    "python",
    '''
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
    """
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
)

_JAVASCRIPT = """
import x from "x";
const fs = require("fs");
const LIMIT = 10;
exports.parse = function (text) {};
exports.version = "1.0";
Foo.limit = 1;
module.exports.fs = require("fs");
module.exports = function main(a) {};
app.use = function use(fn) {};
Foo.prototype.bar = function () {};
const arrow = async (a) => a + 1;
const table = { run() {}, stop: () => 1, count: 3 };
export default class Shape extends Base {
  constructor(a) { super(); }
  static area() {}
  #secret() {}
  handler = () => {};
  static limit = 1;
}
export function* walk() { function inner() {} }
const Anonymous = class { m() {} };
"""

_JAVASCRIPT_EXPECTED = """
constant LIMIT
function parse
variable version
field Foo.limit
function main
method app.use
method Foo.bar
function arrow
variable table
method table.run
method table.stop
class Shape
constructor Shape.constructor
method Shape.area
-method Shape.#secret
method Shape.handler
field Shape.limit
function walk
-function walk.inner
class Anonymous
method Anonymous.m
"""

_add("javascript", _JAVASCRIPT, _JAVASCRIPT_EXPECTED)

_TYPESCRIPT = (
    _JAVASCRIPT
    + """
export interface Reader<T> { read(n: number): T; size: number }
export type Id = string | number;
enum Color { Red, Green = 2, "dark" }
export type Size = { width: number };
@Component({ a: 1 })
export abstract class Store {
  constructor(private disk: Disk, readonly name: string, plain: number) {}
  private load(): void {}
  abstract save(x: Id): void;
}
namespace A.B { export function inside(): void {} }
declare module "ext" { }
declare function ambient(a: number): void;
"""
)

_TYPESCRIPT_EXPECTED = (
    _JAVASCRIPT_EXPECTED
    + """
interface Reader
method Reader.read
field Reader.size
type Id
enum Color
enumerator Color.Red
enumerator Color.Green
enumerator Color.dark
type Size
field Size.width
class Store
constructor Store.constructor
-field Store.disk
field Store.name
-method Store.load
method Store.save
module A.B
function A.B.inside
module ext
function ambient
"""
)

_add("typescript", _TYPESCRIPT, _TYPESCRIPT_EXPECTED)
_add(
    "tsx",
    _TYPESCRIPT + "export const View = (p: Props) => <div onClick={() => 1}>{p.a}</div>;\n",
    _TYPESCRIPT_EXPECTED + "function View\n",
)

_add(
    "go",
    """
package main

const Limit = 10
const low, High = 1, 2

var (
	first, second int
	_ Reader = (*Tree[int])(nil)
)

type Tree[K any] struct {
	root *K
	Left, Right struct{ depth int }
	Base
}

type Reader interface {
	Read(p []byte) (int, error)
}

type (
	ID    = string
	names []string
)

func (t *Tree[K]) Insert(key K) bool { return true }
func (Tree[K]) size() int { return 0 }
func main() {}
""",
    """
constant Limit
constant High
-constant low
-variable first
-variable second
struct Tree
-field Tree.root
field Tree.Left
field Tree.Right
-field Tree.Left.depth
interface Reader
method Reader.Read
type ID
-type names
method Tree.Insert
-method Tree.size
-function main
""",
)

_add(
    "rust",
    """
//! Crate words.
pub const LIMIT: usize = 10;
static mut COUNT: u8 = 0;

/// Shape words.
#[derive(Debug)]
// between
#[serde(rename = "x")]
pub struct Shape<'a> { name: &'a str }

enum Kind { A, B { size: u8 } }
pub trait Area { type Unit; fn area(&self) -> f64; }

impl<'a> Shape<'a> {
    pub fn new() -> Self { todo!() }
    fn hidden(&self) {}
}

impl<'a> Area for &'a mut geometry::Shape<'a> { type Unit = f64; fn area(&self) -> f64 { 1.0 } }

pub mod inner { pub fn deep() {} }
mod elsewhere;
macro_rules! square { ($x:expr) => { $x * $x } }
pub(crate) type Pair = (u8, u8);
""",
    """
constant LIMIT
-constant COUNT
struct Shape
-field Shape.name
-enum Kind
enumerator Kind.A
enumerator Kind.B
field Kind.B.size
trait Area
type Area.Unit
method Area.area
method Shape.new
-method Shape.hidden
type Shape.Unit
method Shape.area
module inner
function inner.deep
macro square
type Pair
""",
)

_add(
    "java",
    """
package a.b;

@Entity(name = "x(")
public class Shape<T> extends Base {
    public static final int LIMIT = 10;
    private String name, title;
    public Shape(int a) {}
    @Override
    @Named("a")
    public <R> List<R> area(int a) throws IOException { return null; }
    private void hidden() {}
    enum Kind { A, B }
    interface Visitor { void visit(Shape s); }
}

record Point(int x, int y) { Point { check(); } }
@interface Marker { String value() default "x"; }
""",
    """
class Shape
constant Shape.LIMIT
-field Shape.name
-field Shape.title
constructor Shape.Shape
method Shape.area
-method Shape.hidden
enum Shape.Kind
enumerator Shape.Kind.A
enumerator Shape.Kind.B
interface Shape.Visitor
method Shape.Visitor.visit
class Point
field Point.x
field Point.y
constructor Point.Point
interface Marker
method Marker.value
""",
)

_add(
    "c",
    """
#ifndef SHAPE_H
#define SHAPE_H
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LIMIT 10
typedef struct shape { int a; } shape_t;
typedef struct { int a; } point_t;
typedef int (*callback)(int);
struct node { struct node *next; int a[3], b : 1; int (*visit)(int); };
enum color { RED, GREEN = 2 };
union value { int i; };
int declared(struct node *n);
char **matrix(void) { return 0; }
static int hidden(int a) { int local = 1; return local; }
int counter = 0;
static const char *names[] = {"a"};
#endif
""",
    """
macro MAX
constant LIMIT
type shape_t
struct shape
field shape.a
struct point_t
field point_t.a
type callback
struct node
field node.next
field node.a
field node.b
field node.visit
enum color
enumerator color.RED
enumerator color.GREEN
struct value
field value.i
function declared
function matrix
-function hidden
variable counter
-variable names
""",
)

_add(
    "cpp",
    """
namespace geo::flat {
class Shape : public Base {
 public:
  Shape();
  ~Shape() {}
  virtual double area(int x) const = 0;
  static int count();
  bool operator==(const Shape& other) const;
};
template <typename T> struct Box { T get() { return v; } T v; };
enum class Color { Red };
using Name = std::string;
template <typename T> concept Small = true;
}
int geo::Shape::area(int x) { return 1; }
Shape::Shape() : x(1) {}
template <typename T> T& Box<std::vector<T>>::get() { return v; }
bool operator<(Shape a, Shape b) { return true; }
class API_EXPORT Exported { void run() {} };
static int hidden() { return 1; }
constexpr int LIMIT = 1;
#define SQUARE(x) ((x) * (x))
""",
    """
module geo.flat
class geo.flat.Shape
constructor geo.flat.Shape.Shape
method geo.flat.Shape.~Shape
method geo.flat.Shape.area
method geo.flat.Shape.count
method geo.flat.Shape.operator==
struct geo.flat.Box
method geo.flat.Box.get
field geo.flat.Box.v
enum geo.flat.Color
enumerator geo.flat.Color.Red
type geo.flat.Name
type geo.flat.Small
method geo.Shape.area
constructor Shape.Shape
method Box.get
function operator<
class Exported
method Exported.run
-function hidden
constant LIMIT
macro SQUARE
""",
)

_add(
    "csharp",
    """
using System;
namespace Geo.Flat
{
    [Serializable]
    public class Shape : Base
    {
        public const int Limit = 2;
        private int x = 1;
        public string Name { get; set; }
        public event EventHandler Changed;
        public Shape(int a) { }
        [Fact(Skip = "]")] public async Task<int> Run<T>(int a) where T : class => 1;
        private void Hidden() { int Local() { return 1; } }
    }
    public interface IShape { void Draw(); }
    public enum Kind { A }
    public struct Point { }
    public record Pair(int A);
    public delegate void Handler(int a);
}
""",
    """
module Geo.Flat
class Geo.Flat.Shape
constant Geo.Flat.Shape.Limit
-field Geo.Flat.Shape.x
field Geo.Flat.Shape.Name
field Geo.Flat.Shape.Changed
constructor Geo.Flat.Shape.Shape
method Geo.Flat.Shape.Run
-method Geo.Flat.Shape.Hidden
function Geo.Flat.Shape.Hidden.Local
interface Geo.Flat.IShape
method Geo.Flat.IShape.Draw
enum Geo.Flat.Kind
enumerator Geo.Flat.Kind.A
struct Geo.Flat.Point
class Geo.Flat.Pair
field Geo.Flat.Pair.A
type Geo.Flat.Handler
""",
)

_add(
    "ruby",
    """
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
    """
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
)

_add(
    "php",
    """
<?php
namespace Geo\\Flat;

/** words */
#[Entity('x')]
final class Shape extends Base {
    const LIMIT = 1;
    private int $size = 1;
    public function __construct(private int $a) {}
    abstract protected static function area(): int;
    private function hidden() {}
}
interface Drawable { public function draw(); }
trait Colored {}
enum Kind: string { case A = 'a'; }
function top(int $a) { }
const ZERO = 0;
define('ONE', 1);
""",
    """
module Geo.Flat
class Geo.Flat.Shape
constant Geo.Flat.Shape.LIMIT
-field Geo.Flat.Shape.size
constructor Geo.Flat.Shape.__construct
-field Geo.Flat.Shape.a
method Geo.Flat.Shape.area
-method Geo.Flat.Shape.hidden
interface Geo.Flat.Drawable
method Geo.Flat.Drawable.draw
trait Geo.Flat.Colored
enum Geo.Flat.Kind
enumerator Geo.Flat.Kind.A
function Geo.Flat.top
constant Geo.Flat.ZERO
constant Geo.Flat.ONE
""",
)

_add(
    "bash",
    """
#!/bin/bash
LIMIT=10
readonly name=x
build() {
  local inner=1
}
function _clean { echo; }
""",
    """
constant LIMIT
variable name
function build
-function _clean
""",
)

_add(
    "kotlin",
    """
package a.b

@Entity("x")
data class Shape(val a: Int) : Base() {
    val size: Int = 1
    private fun hidden(a: Map<String, Int> = mapOf("}" to 1)): Int { return 1 }
    fun short() = 1
    companion object {
        const val LIMIT = 1
        fun make() {}
    }
    constructor(a: String) : this(1) {}
}
interface Visitor {
    fun visit()
}
enum class Kind {
    A,
    B;
    fun label() {}
}
object Registry {
    fun add() {}
}
fun String.shout(a: Int): Int = 1
fun <T> List<T>?.second() {}
val top = 1
typealias Names = List<String>
""",
    """
class Shape
field Shape.a
field Shape.size
-method Shape.hidden
method Shape.short
constant Shape.LIMIT
method Shape.make
constructor Shape.constructor
interface Visitor
method Visitor.visit
enum Kind
enumerator Kind.A
enumerator Kind.B
method Kind.label
module Registry
method Registry.add
method String.shout
method List.second
variable top
type Names
""",
)

_add(
    "scala",
    """
package a.b

@tag sealed trait Shape[A] extends Base {
  def area(a: Int): Int
  val size = 1
  private def hidden = 2
  type Unit = Int
}
case class Point(a: Int) {
  def norm: Int = { val local = 1; local }
}
object Registry {
  def add() =
    1

  /** words of remove */
  def remove(a: Int) = 1
  implicit val ordering: Int = 3
}
given ord: Ord[Int] with { def compare = 1 }
enum Color { case Red, Green }
class Box(val a: Int, b: Int)
extension (s: String) def shout: Int = 1
def top(a: Int) = 1
""",
    """
trait Shape
method Shape.area
field Shape.size
-method Shape.hidden
type Shape.Unit
class Point
field Point.a
method Point.norm
module Registry
method Registry.add
method Registry.remove
field Registry.ordering
variable ord
function ord.compare
enum Color
enumerator Color.Red
enumerator Color.Green
class Box
field Box.a
method String.shout
function top
""",
)

_add(
    "swift",
    """
/// words
@objc public final class Shape: Base {
    private let size: Int = 1
    public var name: String { return "" }
    public init(a: Int) { }
    @discardableResult static func make<T>(a: T) -> Int where T: P { return 1 }
    fileprivate func hidden() {}
}
struct Point { }
enum Kind { case a, b; case c(x: Int); func label() {} }
protocol Drawable { func draw(); var z: Int { get } }
extension Shape: Drawable { func draw() {} }
typealias Name = String
func top() {}
let limit = 1
actor Worker {}
""",
    """
class Shape
-field Shape.size
field Shape.name
constructor Shape.init
method Shape.make
-method Shape.hidden
struct Point
enum Kind
enumerator Kind.a
enumerator Kind.b
enumerator Kind.c
method Kind.label
interface Drawable
method Drawable.draw
field Drawable.z
method Shape.draw
type Name
function top
variable limit
class Worker
""",
)

_add(
    "elixir",
    '''
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
    """
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
)

_add(
    "haskell",
    """
module Data.Shape (area) where

import Data.List

-- | words
data Shape a = Circle { radius, turn :: Int } | Square deriving (Show)
newtype Name = Name { unName :: Int }
type Pair = (Int, Int)

class Eq a => Sized a where
  size :: a -> Int
  size _ = 1

instance Sized Int where
  size x = 2

area :: Int -> Int
area 0 = 1
area n = n * area (n - 1)
  where local = 1

(<+>) :: Int -> Int -> Int
a <+> b = a
limit = 5
""",
    """
type Shape
constructor Shape.Circle
field Shape.radius
field Shape.turn
constructor Shape.Square
type Name
constructor Name.Name
field Name.unName
type Pair
class Sized
method Sized.size
method Sized.size
function area
function <+>
function limit
""",
)

_add(
    "lua",
    """
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
    """
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
)

_add(
    "zig",
    """
const std = @import("std");
/// words
pub const Shape = struct {
    a: u32,
    const limit = 1;
    pub fn init(a: u32) Shape { return .{ .a = a }; }
    fn hidden() void {}
};
const Kind = enum { a };
const Value = union(enum) { a: u32 };
pub const Failure = error{A};
pub var count: u32 = 1;
pub fn main() !void { const Local = struct { fn deep() void {} }; }
""",
    """
struct Shape
field Shape.a
-constant Shape.limit
method Shape.init
-method Shape.hidden
-enum Kind
enumerator Kind.a
-struct Value
field Value.a
enum Failure
enumerator Failure.A
variable count
function main
-struct main.Local
-method main.Local.deep
""",
)
