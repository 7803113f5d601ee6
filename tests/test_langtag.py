"""Language tags."""

from __future__ import annotations

import pytest

from pagecompiler.langtag import canonical, problem
from pagecompiler.languages import has_labels, labels


@pytest.mark.parametrize(
    "tag",
    [
        "en",
        "de-AT",
        "zh-Hans",
        "zh-Hant-TW",
        "de-1996",
        "en-u-co-phonebk",
        "es-419",
        "sl-rozaj",
        "haw",
        "en-x-own",
        "ca-valencia",
        "az-Arab",
    ],
)
def test_good(tag: str) -> None:
    assert problem(tag) is None
    assert canonical(tag.upper()) == tag


@pytest.mark.parametrize(
    "tag",
    [
        "",
        "e",
        "english",
        "de_DE",
        "en-",
        "-en",
        "en--US",
        "jp",
        "en-UK",
        "de-valencia",
        "en-a-bbb",
        "zzzz",
        "xx",
        "iw",
        "eng",
        "en US",
        "en\n",
        "12",
        "日本語",
    ],
)
def test_wrong(tag: str) -> None:
    assert problem(tag)


LANGUAGES = "en de fr es it pt nl sv pl uk ar he tr ja zh zh-Hant ko"


@pytest.mark.parametrize("tag", LANGUAGES.split())
def test_the_compilers_own_words(tag: str) -> None:
    assert has_labels(tag)
    words = labels(tag, {})
    assert set(words) == {"skip", "main_navigation", "footer_navigation"}
    assert len(set(words.values())) == 3


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("zh", "主导航"), ("zh-CN", "主导航"), ("zh-SG", "主导航"), ("zh-Hans-HK", "主导航"), ("zh-x-hant", "主导航"),
        ("zh-Hant", "主要導覽"), ("zh-TW", "主要導覽"), ("zh-HK", "主要導覽"), ("zh-MO", "主要導覽"), ("zh-Hant-MY", "主要導覽"),
    ],
)  # fmt: skip
def test_chinese_has_the_words_of_its_script(tag: str, words: str) -> None:
    assert labels(tag, {})["main_navigation"] == words
