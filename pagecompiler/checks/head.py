"""The document's head: language, character set, viewport, title, CSP and the one stylesheet."""

from __future__ import annotations

import base64
import hashlib
import re

from pagecompiler import langtag
from pagecompiler.checks.css import stylesheet_problems
from pagecompiler.checks.tree import Element, Tree
from pagecompiler.languages import direction

CHARSET_BYTES = 1024
CSP = "default-src 'none'; style-src '{}'; img-src 'self' data:; base-uri 'none'; form-action 'none'"


def check_head(tree: Tree, language: str | None) -> None:
    """Everything about the head and the `html` element; `language` is what `lang` must be."""
    _check_language(tree, language)
    _check_charset(tree)
    _check_viewport(tree)
    _check_title(tree)
    _check_metas(tree)
    styles = tree.named("style")
    _check_styles(tree, styles)
    _check_csp(tree, styles)


def _check_language(tree: Tree, language: str | None) -> None:
    for element in tree.elements:
        tag = element.attributes.get("lang")
        if tag and (problem := langtag.problem(tag)):
            tree.report("E0640", problem, element)
    root = next(iter(tree.named("html")), None)
    if root is None:
        return
    tag = root.get("lang")
    if not tag:
        tree.report("E0640", "`<html>` has no `lang`", root)
    elif language is not None and tag != language:
        tree.report("E0640", f"the page says `{tag}` but its language is `{language}`", root)
    runs = direction(language or tag)
    if root.get("dir", "ltr").lower() != runs:
        tree.report("E0641", f"text in `{language or tag}` is `{runs}`, but `dir` says otherwise", root)


def _check_charset(tree: Tree) -> None:
    charsets = [meta for meta in tree.named("meta") if "charset" in meta.attributes]
    if len(charsets) != 1 or charsets[0].get("charset").lower() != "utf-8":
        tree.report("E0642", 'the page needs one `<meta charset="utf-8">`', charsets[0] if charsets else None)
    elif len(tree.source_before(charsets[0]).encode("utf-8", "replace")) > CHARSET_BYTES:
        tree.report("E0642", f"`<meta charset>` must end within the first {CHARSET_BYTES} bytes", charsets[0])


def _check_viewport(tree: Tree) -> None:
    viewports = [meta for meta in tree.named("meta") if meta.get("name").lower() == "viewport"]
    if len(viewports) != 1:
        tree.report("E0643", f"the page has {len(viewports)} viewports instead of one")
    for viewport in viewports:
        content = viewport.get("content").lower().replace(" ", "")
        if "width=device-width" not in content:
            tree.report("E0643", "the viewport does not follow the width of the device", viewport)
        if re.search(r"user-scalable=(?:no|0)|maximum-scale|minimum-scale", content):
            tree.report("E0643", "the viewport keeps readers from zooming", viewport)


def _check_title(tree: Tree) -> None:
    titles = tree.named("title")
    if len(titles) != 1 or not titles[0].text():
        tree.report("E0644", "the page needs one `<title>` with words", titles[0] if titles else None)


def _check_metas(tree: Tree) -> None:
    seen: set[str] = set()
    for meta in tree.named("meta"):
        keys = [key for key in ("charset", "name", "property", "http-equiv") if key in meta.attributes]
        if len(keys) != 1 or (keys != ["charset"] and "content" not in meta.attributes):
            tree.report("E0606", "`<meta>` needs a name, property or http-equiv, and a content", meta)
        name = meta.get("name").lower()
        if name == "description" and name in seen:
            tree.report("E0606", "the page has two descriptions", meta)
        seen.add(name)
        if "http-equiv" in meta.attributes and meta.get("http-equiv").lower() != "content-security-policy":
            tree.report("E0655", f'`<meta http-equiv="{meta.get("http-equiv")}">` is not allowed', meta)
    for element in tree.named("base"):
        tree.report("E0655", "`<base>` changes what every link means", element)


def _check_styles(tree: Tree, styles: list[Element]) -> None:
    if len(styles) != 1:
        tree.report("E0654", f"the page has {len(styles)} `<style>` elements instead of one")
    for style in styles:
        for problem in stylesheet_problems(_css(style)):
            tree.report("E0656", f"stylesheet: {problem}", style)


def _css(style: Element) -> str:
    return "".join(text.value for text in style.texts())


def _check_csp(tree: Tree, styles: list[Element]) -> None:
    policies = [meta for meta in tree.named("meta") if meta.get("http-equiv").lower() == "content-security-policy"]
    if len(policies) != 1:
        tree.report("E0650", f"the page has {len(policies)} content security policies instead of one")
        return
    content = policies[0].get("content")
    said = re.search(r"'(sha256-[^']*)'", content)
    if said is None or content != CSP.format(said[1]):
        tree.report("E0650", "the content security policy is not the one that every page has", policies[0])
    if len(styles) == 1:
        digest = hashlib.sha256(_css(styles[0]).encode("utf-8", "surrogatepass")).digest()
        if said is None or said[1] != "sha256-" + base64.b64encode(digest).decode():
            tree.report("E0651", "the hash in the content security policy is not that of the stylesheet", styles[0])
        position = {id(element): at for at, element in enumerate(tree.elements)}
        if position[id(policies[0])] > position[id(styles[0])]:
            tree.report("E0650", "the content security policy stands behind the stylesheet", policies[0])
