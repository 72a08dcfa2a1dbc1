"""What defines a name comes first where the name is the whole question, in every mode and ranking, in tests too."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine

ROUTER = '''class TestRouter:
    def db_for_write(self, model):
        return "other"


class AuthRouter:
    """Keeps users apart."""

    def db_for_read(self, model):
        return "auth"

    def db_for_write(self, model):
        return "auth"
'''
USE = "\n\n".join(
    f"def use_{i}(router, auth):\n    db = router.db_for_write(auth)\n    return db.write(router, auth)" for i in range(6)
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exact")
    files = {
        "src/auth_router.py": USE + "\n",
        "src/router/db_for_write.py": '"""The auth router and its db for write."""\n' + USE + "\n",
        "src/utils.py": "def _func(name): ...\n\n\nclass ConnectionRouter:\n    db_for_write = _func('db_for_write')\n",
        "tests/routers.py": ROUTER,
        "src/color.ts": "export enum Color { Red, DarkBlue = 2 }\nexport interface Box { innerWidth: number }\n",
        "src/use.ts": "".join(f"export function f{i}(b: Box) {{ return b.innerWidth + Color.DarkBlue; }}\n" for i in range(9)),
        "src/cache.py": '"""The cache keeps what was asked for in a cache."""\n\n\ndef keep():\n    return "cache"\n',
        "src/other.py": "class Other:\n    cache = None\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


MODES = ("auto", "hybrid", "lexical", "dense", "symbol")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranking", ["default", "classic"])
def test_a_qualified_name_lists_its_definition_first(tree: Path, mode: str, ranking: str) -> None:
    answer = Engine.open(tree).search("AuthRouter.db_for_write", mode=mode, ranking=ranking)
    assert (answer.hits[0].path, answer.hits[0].symbol) == ("tests/routers.py", "AuthRouter.db_for_write")
    assert (tree / "tests/routers.py").read_text().split("\n")[answer.hits[0].line - 1] == "    def db_for_write(self, model):"
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", MODES)
def test_every_definition_comes_before_every_use(tree: Path, mode: str) -> None:
    hits = Engine.open(tree).search("db_for_write", mode=mode, limit=20).hits
    defining = [hit.path in ("src/utils.py", "tests/routers.py") for hit in hits]
    assert defining == sorted(defining, reverse=True) and sum(defining) >= 2


def test_exact_text_that_is_a_name_lists_its_definitions_first(tree: Path) -> None:
    hits = Engine.open(tree).search("db_for_write", mode="literal", limit=20).hits
    defining = [hit.path in ("src/utils.py", "tests/routers.py") for hit in hits]
    assert defining == sorted(defining, reverse=True) and sum(defining) >= 2


def test_members_are_definitions(tree: Path) -> None:
    engine = Engine.open(tree)
    for name, qualified, kind in (
        ("db_for_write", "ConnectionRouter.db_for_write", "field"),
        ("Color.DarkBlue", "Color.DarkBlue", "enumerator"),
        ("innerWidth", "Box.innerWidth", "field"),
    ):
        assert (qualified, kind) in [(hit.qualified, hit.kind) for hit in engine.symbol(name).definitions]
    assert engine.search("Color.DarkBlue").hits[0].symbol == "Color.DarkBlue"
    assert engine.search("innerWidth").hits[0].path == "src/color.ts"


def test_a_plain_word_is_about_something_unless_definitions_are_requested(tree: Path) -> None:
    engine = Engine.open(tree)
    assert engine.search("cache").hits[0].path == "src/cache.py"
    assert engine.search("cache", mode="symbol").hits[0].path == "src/other.py"


def test_what_lifts_a_definition_is_reported(tree: Path) -> None:
    hit = Engine.open(tree).search("AuthRouter.db_for_write").hits[0]
    assert hit.why.stages[-1].stage == "exact"
    assert hit.score == pytest.approx(hit.why.fused * _product(hit.why.stages), rel=1e-6)


def _product(stages: object) -> float:
    product = 1.0
    for stage in stages:  # type: ignore[attr-defined]
        if stage.stage in ("scale", "further", "exact"):
            product *= stage.factor
    return product


MEMBERS = {
    "a.py": (
        'MAX_RETRIES = make("retries")\n\n\nclass Colour(Enum):\n    DARK_RED = 1\n    only_annotated: str\n\n\n'
        'class Pool:\n    idle_limit = _setting("idle_limit")\n\n    def __init__(self, size):\n'
        '        self.pool_size: int = size\n',
        ("MAX_RETRIES", "DARK_RED", "Colour.DARK_RED", "only_annotated", "idle_limit", "pool_size", "Pool.pool_size"),
    ),
    "Limits.java": (
        "class Limits {\n    static final int MAX_BYTES = 3;\n    int firstLimit, lastLimit;\n"
        "    enum Level { LOW_LEVEL, TOP_LEVEL(2) }\n}\n"
        "record Pair(int leftPart, String rightPart) {}\n",
        ("MAX_BYTES", "lastLimit", "TOP_LEVEL", "Level.LOW_LEVEL", "leftPart"),
    ),
    "config.rs": (
        "pub struct Config {\n    pub max_depth: usize,\n}\npub enum Shape {\n    RoundBox,\n    Lamp { lamp_power: u8 },\n}\n"
        "pub const MAX_NODES: usize = 3;\nthread_local! {\n    static LOCAL_CELL: u8 = 1;\n}\n",
        ("max_depth", "Config::max_depth", "RoundBox", "lamp_power", "MAX_NODES", "LOCAL_CELL"),
    ),
    "node.c": (
        "#define NODE_LIMIT 10\nenum tint { TINT_DARK, TINT_LIGHT = 2 };\nstruct node {\n    int node_value, *node_next;\n"
        "    int (*on_change)(int);\n};\nstatic const int kStep = 3;\n",
        ("NODE_LIMIT", "TINT_LIGHT", "node_next", "node.node_value", "on_change", "kStep"),
    ),
    "box.cpp": (
        "namespace ns {\nconstexpr int kWidth = 3;\nenum class Mode : int { FastMode, SlowMode = 2 };\n"
        "class Box {\n  int inner_width_ = 0;\n  static const int kMost = 1;\n};\n}\n",
        ("kWidth", "SlowMode", "inner_width_", "Box::kMost"),
    ),
    "box.ts": (
        'export const MAX_PANES = 3;\nexport enum Side { LeftSide, RightSide = "r" }\n'
        'export interface Pane {\n  paneWidth: number;\n}\n'
        "export class View {\n  static viewCount = 1;\n  constructor(private ownPane: Pane) {}\n}\n"
        "export const table = {\n  tableKey: 1,\n};\n",
        ("MAX_PANES", "RightSide", "Pane.paneWidth", "viewCount", "ownPane", "tableKey"),
    ),
    "old.js": (
        "var oldLimit = 1;\nmodule.exports.oldName = 1;\nfunction Old() {\n  this.oldProperty = 1;\n}\n",
        ("oldLimit", "oldName", "oldProperty"),
    ),
    "wait.go": (
        'package wait\n\nconst (\n\tStateIdle State = iota\n\tStateBusy\n)\n\nvar ErrGone = errors.New("gone")\n\n'
        "type Waiter struct {\n\tMaxWait int\n\tfirst, second string\n}\n",
        ("StateBusy", "ErrGone", "MaxWait", "Waiter.MaxWait"),
    ),
    "Queue.cs": (
        "namespace N {\n  enum Pace { SlowPace, FastPace = 2 }\n  class Queue {\n    const int MaxQueue = 3;\n"
        "    private int _head, _tail;\n"
        "    public int QueueDepth { get; set; }\n  }\n  record Span(int SpanStart, int SpanEnd);\n}\n",
        ("FastPace", "MaxQueue", "_tail", "Queue.QueueDepth", "SpanEnd"),
    ),
    "Shape.kt": (
        "const val MAX_SHAPES = 3\nenum class Hue(val hueCode: Int) {\n    WARM_HUE(1), COLD_HUE(2)\n}\n"
        "data class Edge(val edgeFrom: Int, var edgeTo: String)\n",
        ("MAX_SHAPES", "hueCode", "COLD_HUE", "edgeTo"),
    ),
    "Cell.swift": (
        "let maxCells = 3\nenum Tone: Int {\n    case warmTone, coldTone = 2\n}\nstruct Cell {\n    var cellWidth: Int\n}\n",
        ("maxCells", "coldTone", "Cell.cellWidth"),
    ),
    "Conf.scala": (
        "object Conf {\n  val MaxConf = 3\n}\ncase class Arc(arcFrom: Int, arcTo: String)\nenum Turn {\n"
        "  case LeftTurn, RightTurn\n}\n",
        ("MaxConf", "arcTo", "RightTurn"),
    ),
    "model.rb": (
        "class Model\n  MODEL_LIMIT = 3\n  attr_accessor :model_name, :model_size\n  scope :recent_models, -> { 1 }\n\n"
        "  def initialize\n    @model_cache = {}\n  end\nend\nPoint = Struct.new(:point_x, :point_y)\n",
        ("MODEL_LIMIT", "model_size", "recent_models", "model_cache", "point_y"),
    ),
    "suit.php": (
        "<?php\ndefine('DECK_SIZE', 1);\nclass Deck {\n    const DECK_LIMIT = 1;\n    public $topCard = 1;\n"
        "    public function __construct(private int $deckCount) {}\n}\nenum Suit: string {\n    case BlackHearts = 'h';\n}\n",
        ("DECK_SIZE", "DECK_LIMIT", "topCard", "deckCount", "BlackHearts"),
    ),
    "plan.ex": (
        "defmodule Plan do\n  @plan_limit 3\n  defstruct [:plan_name, plan_size: 1]\nend\n",
        ("plan_limit", "plan_name", "plan_size"),
    ),
    "mod.lua": ("local M = {}\nM.mod_limit = 3\nM.keys = {\n  first_key = 1,\n}\nreturn M\n", ("mod_limit", "first_key")),
    "Rec.hs": (
        "module Rec where\ndata Rec = MkRec { recField :: Int, recOther :: String } | OtherRec Int\n"
        "topLimit :: Int\ntopLimit = 3\n",
        ("recOther", "OtherRec", "topLimit"),
    ),
    "clip.zig": (
        "pub const clip_limit = 3;\npub const Clip = struct {\n    clip_width: usize = 1,\n};\n"
        "pub const Cut = enum { hard_cut, soft_cut };\n",
        ("clip_limit", "clip_width", "soft_cut"),
    ),
    "run.sh": ("RUN_LIMIT=3\nexport RUN_MODE=fast\n", ("RUN_LIMIT", "RUN_MODE")),
}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("members")
    (root / "tests").mkdir()
    names = [name.replace("::", ".").split(".")[-1] for _, names in MEMBERS.values() for name in names]
    for i, name in enumerate(names):
        uses = "".join(f"def use_{j}(value):\n    return value.{name}(value.{name})\n\n\n" for j in range(3))
        (root / f"use_{i}.py").write_text(uses)
    for path, (text, _) in MEMBERS.items():
        (root / "tests" / path).write_text(text)
    return root


@pytest.mark.parametrize("path", MEMBERS)
def test_members_come_first_in_every_language_and_mode_also_in_tests(members: Path, path: str) -> None:
    text, names = MEMBERS[path]
    lines = text.split("\n")
    ways = [{"mode": mode} for mode in MODES] + [{"ranking": "classic"}, {"fusion": "linear"}]
    with Engine.open(members) as engine:
        for name in names:
            last = name.replace("::", ".").split(".")[-1]
            line = 1 + next(i for i, content in enumerate(lines) if last in content)
            for way in ways:
                hit = engine.search(name, **way).hits[0]
                assert (hit.path, hit.start_line <= line <= hit.end_line) == (f"tests/{path}", True), (name, way)
