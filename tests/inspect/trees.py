"""A small package with importers at several distances."""

from __future__ import annotations

FILES = {
    "shop/__init__.py": '"""A shop."""\nfrom .client import Client\n',
    "shop/client.py": (
        '"""Talks to the server."""\nfrom .wire import send, receive\n\n\nclass Client:\n    """Sends."""\n\n'
        "    def retry(self, times=3):\n        return send(times)\n\n\ndef connect(host):\n    return Client()\n"
    ),
    "shop/wire.py": "def send(times):\n    return times\n\n\ndef receive():\n    return None\n\n\ndef _private():\n    pass\n",
    "shop/cart.py": "from shop.client import connect\n\n\ndef checkout():\n    return connect('x').retry()\n",
    "shop/report.py": "import shop.cart\n\n\ndef total():\n    # retry, in a comment\n    return shop.cart.checkout()\n",
    "tests/test_cart.py": "from shop.cart import checkout\n\n\ndef test_it():\n    checkout()\n",
    "README.md": "# Shop\n\nSells things over a wire.\n",
    "go/pool.go": "package pool\n\ntype Pool struct{}\n\nfunc (p *Pool) Get() int { return 1 }\n",
}
