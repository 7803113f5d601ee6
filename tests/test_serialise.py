"""The one serialiser."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from pagecompiler.serialise import serialise


@pytest.mark.parametrize(
    "markup",
    [
        '<p>é &amp; "quotes" &lt;b&gt; – 日本</p>',
        '<p>a<br>b <img alt="" src="a.png"> c</p>',
        "<pre><code>\n\n two\n  lines\n</code></pre>",
        "<p>  spaces <em> inside </em> stay  </p>",
    ],
)
def test_serialising_changes_nothing(markup: str) -> None:
    body = BeautifulSoup(markup, "html5lib").body
    assert body is not None and body.next_element is not None
    written = serialise(body)
    again = BeautifulSoup(written, "html5lib").body
    assert again is not None and again.get_text() == body.get_text()
    assert "/>" not in written and "&eacute;" not in written
