"""Objective-C: classes, protocols and categories beside what C has."""

from __future__ import annotations

import pytest

from lurcher.languages.detect import detect
from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "objective-c": Sample(
        source="""
#import <Foundation/Foundation.h>
#import "Shape.h"
#include "util.h"
@import UIKit;
@class Foo;
#define MAX 10
// words
typedef NS_ENUM(NSInteger, Color) { ColorRed, ColorBlue };
typedef struct { int x; } Point;
extern NSString * const kName;
static int count = 0;
@protocol Drawable <NSObject>
@required
- (void)draw;
@property (nonatomic) int depth;
@end
@interface Shape : NSObject <Drawable> {
  int _sides;
}
@property (nonatomic, strong) NSString *name;
@property (nonatomic, assign) CGFloat a, b;
+ (instancetype)shapeWithName:(NSString *)name size:(int)size;
- (double)area;
@end
@interface Shape (Extra)
- (void)extra;
@end
@implementation Shape
@synthesize name = _name;
- (double)area { return 1; }
+ (instancetype)shapeWithName:(NSString *)name size:(int)size { return nil; }
@end
@implementation Shape (Extra)
- (void)extra {}
@end
int helper(int a) { return a; }
""",
        definitions="""
constant MAX
enum Color
enumerator Color.ColorRed
enumerator Color.ColorBlue
struct Point
field Point.x
variable kName
-variable count
interface Drawable
method Drawable.draw
field Drawable.depth
class Shape
field Shape._sides
field Shape.name
field Shape.a
field Shape.b
method Shape.shapeWithName
method Shape.area
method Shape.extra
class Shape
method Shape.area
method Shape.shapeWithName
method Shape.extra
function helper
""",
        signatures={
            "helper": "int helper(int a)",
            "Drawable": "@protocol Drawable <NSObject>",
            "kName": "extern NSString * const kName",
            "depth": "@property (nonatomic) int depth",
        },
        imports=[
            (
                '#import <Foundation/Foundation.h>\n#import "Shape.h"\n#include "util.h"\n@import UIKit;\n// #import "no.h"\n',
                [
                    ("Foundation/Foundation.h", (), "angle"),
                    ("Shape.h", (), "quote"),
                    ("util.h", (), "quote"),
                    ("UIKit", (), "import"),
                ],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_headers_are_found_as_those_of_c() -> None:
    files = {
        "App/Shape.h": "@interface Shape : NSObject\n@end\n",
        "App/Shape.m": '#import "Shape.h"\n#import <Foundation/Foundation.h>\n#import "util.h"\n@implementation Shape\n@end\n',
        "App/util.h": "int f(void);\n",
    }
    assert leads(files, "App/Shape.m") == {"App/Shape.h": 1, "App/util.h": 1}


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a.h", b"#import <UIKit/UIKit.h>\n@interface A\n@end\n", "objective-c"),
        ("a.h", b"// @interface of its own\nint f(void);\n", "c"),
        ("a.m", b"#import <UIKit/UIKit.h>\n", "objective-c"),
        ("a.m", b"// words\n@implementation A\n", "objective-c"),
        ("a.m", b"function y = square(x)\n  y = x * x;\nend\n", "matlab"),
        ("a.m", b"% words\nx = 1;\n", "matlab"),
        ("a.m", b"", "objective-c"),
    ],
)
def test_what_shares_an_extension_is_distinguished(path: str, head: bytes, language: str) -> None:
    assert detect(path, head) == language
