"""Whether the lurcher that this Python has installed works: it indexes a small tree, answers, and says which kernel it uses.

    python tools/check_install.py [--kernel native|python]

For wheels that have just been built: it needs nothing but the package, and takes a second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FILES = {
    "shop/basket.py": '"""The basket."""\n\n\ndef add_discount(total, percent):\n    """Reduce a total by a discount."""\n'
    "    return total * (100 - percent) / 100\n",
    "shop/mail.py": '"""Mail to customers."""\n\n\ndef send_receipt(order):\n    """Send the receipt of an order."""\n'
    "    return order\n",
    "web/cart.js": "export function emptyCart(cart) {\n  cart.items = [];\n}\n",
}
QUESTIONS = {"how is a discount taken off": "shop/basket.py", "send_receipt": "shop/mail.py", "emptyCart": "web/cart.js"}


def check(kernel: str) -> list[str]:
    """What is wrong, in sentences."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        for question, wanted in QUESTIONS.items():
            hits = ask("search", "--json", question, folder)["hits"]
            first = hits[0]["path"] if hits else "nothing"
            if first != wanted:
                problems.append(f"{question!r} finds {first} first, not {wanted}")
        used = ask("status", "--json", folder)["kernel"]["name"]
        if kernel not in ("", used):
            problems.append(f"the kernel is {used}, not {kernel}")
    return problems


def ask(*arguments: str) -> Any:
    done = subprocess.run([sys.executable, "-m", "lurcher", *arguments], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"lurcher {arguments[0]} ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="check an installed lurcher")
    parser.add_argument("--kernel", choices=("native", "python"), default="", help="which kernel it has to use")
    problems = check(parser.parse_args().kernel)
    print("\n".join(problems) or "lurcher works")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
