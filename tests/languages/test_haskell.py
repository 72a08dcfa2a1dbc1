"""haskell: definitions, imports, and where they lead."""

from __future__ import annotations

from tests.languages.samples import Sample, check

SAMPLES = {
    "haskell": Sample(
        source="""
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
        definitions="""
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
        signatures={
            "area": "area :: Int -> Int",
        },
        others=[
            ("x <+> y = x\nx `plus` y = z\n  where z = 1\nf, g :: Int\n", ["function <+>", "function plus"]),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)
