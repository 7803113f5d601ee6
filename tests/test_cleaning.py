"""The cache folder keeps its bounds."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pagecompiler.cache import Fragment, FragmentCache
from pagecompiler.cleaning import clean
from pagecompiler.record import PageRecord, list_records, write_record

DAY = 24 * 3600


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = FragmentCache(tmp_path)
    keys = [f"{number:02}" + "0" * 62 for number in range(8)]
    for age, key in enumerate(keys, 2):
        cache.put(key, Fragment("x" * 100))
        path = tmp_path / "fragments" / key[:2] / f"{key}.json"
        os.utime(path, (time.time() - age * DAY,) * 2)
    size = path.stat().st_size
    assert cache.get(keys[7]) is not None, "used again, so it is the youngest now"
    assert clean(tmp_path, max_bytes=3 * size) == 5
    assert [cache.get(key) is not None for key in keys] == [True, True, *[False] * 5, True]
    assert clean(tmp_path, max_bytes=0) == 0, "once a day"
    assert clean(tmp_path, max_bytes=0, now=time.time() + 2 * DAY) == 3


def test_leftovers_and_records_of_pages_that_are_gone(tmp_path: Path) -> None:
    cache, old = tmp_path / "cache", time.time() - 7200
    spec = tmp_path / "a.yaml"
    spec.write_text("title: T")
    for name, output in ((str(spec), tmp_path / "a.html"), (str(tmp_path / "gone.yaml"), tmp_path / "gone.html")):
        write_record(cache, name, PageRecord(str(output), "0" * 64, ()))
    killed, running = cache / "pages" / ".x.json.1.tmp", cache / "pages" / ".x.json.2.tmp"
    for path in (killed, running):
        path.write_text("{")
    os.utime(killed, (old, old))
    assert clean(cache) == 2
    assert running.exists() and not killed.exists()
    assert [name for name, _ in list_records(cache)] == [str(spec)]
    assert clean(tmp_path / "absent") == 0
