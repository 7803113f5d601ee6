"""The fragment cache and the build record: several processes, damage, keys."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagecompiler.cache import Fragment, FragmentCache, fragment_key, prepare_folder
from pagecompiler.engine.types import Message, Sampling
from pagecompiler.record import BlockRecord, PageRecord, read_record, remove_record, write_record

KEY = "ab" * 32


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8")), st.lists(st.integers(0, 300_000)))
def test_what_is_put_is_got(tmp_path: Path, text: str, tokens: list[int]) -> None:
    cache = FragmentCache(tmp_path)
    cache.put(KEY, Fragment(text, tuple(tokens)))
    assert cache.get(KEY) == Fragment(text, tuple(tokens))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data.replace(b"good", b"evil"),
        lambda data: data.replace(b"[1, 2]", b"[1, 3]"),
        lambda data: b"[]",
        lambda data: b'{"version": 1}',
        lambda data: data.replace(b'"version": 1', b'"version": 0'),
        lambda data: b"\xff\xfe",
    ],
)
def test_damage_is_a_miss(tmp_path: Path, damage: object) -> None:
    cache = FragmentCache(tmp_path)
    cache.put(KEY, Fragment("good", (1, 2)))
    (entry,) = (tmp_path / "fragments").rglob("*.json")
    entry.write_bytes(damage(entry.read_bytes()))  # type: ignore[operator]
    assert cache.get(KEY) is None


def test_switched_off(tmp_path: Path) -> None:
    FragmentCache(tmp_path, write=False).put(KEY, Fragment("x"))
    assert list(tmp_path.iterdir()) == []
    FragmentCache(tmp_path).put(KEY, Fragment("x"))
    assert FragmentCache(tmp_path, read=False).get(KEY) is None


def test_all_that_decides_an_answer_is_in_the_key() -> None:
    messages = (Message("system", "s"), Message("user", "u"))
    keys = {
        fragment_key(messages, "m", Sampling()),
        fragment_key(messages[::-1], "m", Sampling()),
        fragment_key((Message("system", "su"), Message("user", "")), "m", Sampling()),
        fragment_key(messages, "n", Sampling()),
        fragment_key(messages, "m", Sampling(seed=1)),
        fragment_key(messages, "m", Sampling(temperature=0.1)),
        fragment_key(messages, "m", Sampling(top_k=1)),
        fragment_key(messages, "m", Sampling(top_p=0.5)),
        fragment_key(messages, "m", Sampling(min_p=0.5)),
    }
    assert len(keys) == 9
    assert fragment_key(messages, "m", Sampling()) == fragment_key(tuple(messages), "m", Sampling())


def _write_and_read(folder: Path) -> int:
    cache = FragmentCache(folder)
    wrong = 0
    for _ in range(150):
        cache.put(KEY, Fragment("x" * 5000, tuple(range(500))))
        wrong += cache.get(KEY) != Fragment("x" * 5000, tuple(range(500)))
    return wrong


def test_two_processes_at_once(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_write_and_read, [tmp_path, tmp_path]) == [0, 0]
    assert [path.suffix for path in (tmp_path / "fragments").rglob("*") if path.is_file()] == [".json"]


def test_the_folder_keeps_a_gitignore_of_the_user(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    prepare_folder(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


def test_a_record_comes_back_and_damage_is_none(tmp_path: Path) -> None:
    record = PageRecord("out/ü.html", "0" * 64, (BlockRecord("hero", "hero", "kind: hero", KEY),))
    write_record(tmp_path, "/specs/ü.yaml", record)
    assert read_record(tmp_path, "/specs/ü.yaml") == record
    assert read_record(tmp_path, "/specs/other.yaml") is None
    (path,) = (tmp_path / "pages").rglob("*.json")
    path.write_text(json.dumps({"version": 1, "output": "x"}), encoding="utf-8")
    assert read_record(tmp_path, "/specs/ü.yaml") is None


def test_a_spec_has_a_record_for_each_place_of_its_page(tmp_path: Path) -> None:
    first, second = PageRecord("/out/a.html", "1" * 64, ()), PageRecord("/public/a.html", "2" * 64, ())
    for age, record in ((100, first), (50, second)):
        write_record(tmp_path, "/specs/a.yaml", record)
        (written,) = [path for path in tmp_path.rglob("*.json") if record.output in path.read_text(encoding="utf-8")]
        os.utime(written, (time.time() - age,) * 2)
    assert read_record(tmp_path, "/specs/a.yaml", "/out/a.html") == first
    assert read_record(tmp_path, "/specs/a.yaml", "/public/a.html") == second
    assert read_record(tmp_path, "/specs/a.yaml", "/elsewhere/a.html") == second, "the last one"
    remove_record(tmp_path, "/specs/a.yaml", "/public/a.html")
    assert read_record(tmp_path, "/specs/a.yaml") == first
    remove_record(tmp_path, "/specs/a.yaml", "/out/a.html")
    assert read_record(tmp_path, "/specs/a.yaml") is None and not list((tmp_path / "pages").iterdir())
