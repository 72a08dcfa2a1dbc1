"""The fuzzer runs, and a few of its rounds find nothing; tools/kernel-sanitize runs many, under sanitizers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.kernel import kernel

pytestmark = kernel.needed
FUZZ = Path(__file__).parents[2] / "tools" / "kernel_fuzz.py"


def test_a_few_rounds_find_nothing() -> None:
    done = subprocess.run([sys.executable, str(FUZZ), "2", "1"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "rounds with seed 1" in done.stdout
