from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from lurcher.query import read_report

REPORT = """Retry loses the session cookie
<!-- please fill in -->
### Description
When `Client.retry` runs, the jar in store/cookies.py is empty. See https://example.org/org/repo/blob/main/store/jar.py#L10

```python
client = Client()
client.retry(max_times=3)
```
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/net/client.py", line 12, in retry
    self.send()
  File "/usr/lib/python3/site-packages/net/jar.py", line 40, in get
KeyError: 'session'

### Environment
numpy: 1.26.4
Banana OS
"""


def test_each_part_is_found() -> None:
    report = read_report(REPORT)
    assert report.title == "Retry loses the session cookie"
    assert report.frames == ("/usr/lib/python3/site-packages/net/client.py", "/usr/lib/python3/site-packages/net/jar.py")
    assert report.paths == ("store/cookies.py",)
    assert "Client.retry" in report.dotted
    assert {"Client.retry", "max_times", "KeyError"} <= set(report.names)
    assert report.urls == ("https://example.org/org/repo/blob/main/store/jar.py#L10",)


def test_noise_has_no_weight() -> None:
    terms = read_report(REPORT).terms
    assert not {"banana", "numpy", "please", "description", "org", "main"} & set(terms)


def test_the_title_counts_most_and_repetition_saturates() -> None:
    terms = read_report("parser fails\n" + "tokenizer " * 50).terms
    assert terms["parser"] == 3.0
    assert 1.9 < terms["tokenizer"] < 2.0


def test_frames_of_other_languages() -> None:
    text = """boom
    at handle (src/server/app.js:10:3)
    at com.acme.Foo.bar(Foo.java:123)
lib/rack/builder.rb:40:in 'call'
~/env/xarray/core/missing.py in interp(var)
"""
    assert read_report(text).frames == ("src/server/app.js", "Foo.java", "lib/rack/builder.rb", "~/env/xarray/core/missing.py")


@given(st.text(max_size=2000))
def test_any_text_is_read(text: str) -> None:
    read_report(text)


def test_hostile_text_is_read_quickly() -> None:
    started = time.process_time()
    for piece in ("a/" * 50_000, "x.y" * 30_000, "`" * 100_000, "<!--" * 25_000, " at " * 25_000, "A" * 100_000, "1." * 50_000):
        read_report("title\n" + piece)
    assert time.process_time() - started < 5
