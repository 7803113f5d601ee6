"""Addresses: what kind a link is, and whether a page may have it."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from typing import Literal
from urllib.parse import unquote

Kind = Literal["anchor", "web", "mail", "tel", "path"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_WEB = re.compile(r"(?i:https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Outside ASCII the loader has already refused what is no URL code point.
_NOT_URL = re.compile(r'["<>\\^`{|}\[\]\x00-\x20\x7f-\xa0\u2028\u2029]|\s')
_MAIL = re.compile(r"[^\s@,;:?&/()<>]+@[^\s@,;:?&/()<>]+(?:\?[^\s?]*)?")
_TEL = re.compile(r"\+?[0-9*(][0-9*().-]*(?:;[A-Za-z0-9-]+(?:=[A-Za-z0-9.+-]+)?)*")
_DIALLED = re.compile(r"(?i:tel:)?(\+?[0-9(][0-9 ()/.\-\u00a0]*)")
_HALF_WEB = re.compile(r"(?i)(https?)(?::/?|//)(?=[^/:])")
_FILE_OF_TWO = re.compile(r"(?i).*\.(?:avif|gif|html?|jpe?g|pdf|png|svg|webp)")
_LABEL = re.compile(r"(?!-)[\w-]{1,63}(?<!-)")


def classify(href: str) -> Kind:
    """The kind of an address that `check` accepts.

    >>> classify("#features"), classify("https://example.org"), classify("/buy")
    ('anchor', 'web', 'path')
    """
    if href.startswith("#"):
        return "anchor"
    match = _SCHEME.match(href)
    scheme = match[1].lower() if match else ""
    if scheme in ("http", "https"):
        return "web"
    if scheme == "mailto":
        return "mail"
    return "tel" if scheme == "tel" else "path"


def check(href: str) -> str | None:
    """What is wrong with an address, as a plain sentence, or None. `refused` tells the two codes apart."""
    if not href:
        return "the address is empty"
    if bad := _NOT_URL.search(href):
        return f"an address may not have {_name(bad[0])}"
    if href.startswith("//"):
        return "the address begins with `//`, so its scheme depends on where the page is opened"
    if _BAD_ESCAPE.search(href):
        return "`%` in an address must be followed by two hexadecimal digits"
    if href.count("#") > 1:
        return "an address may have only one `#`"
    match = _SCHEME.match(href)
    if match is None:
        head = re.split(r"[/?#]", href, maxsplit=1)[0]
        return "a `:` in the first part of a path reads like a scheme" if ":" in head else None
    scheme, rest = match[1].lower(), href[match.end() :]
    if scheme in ("http", "https"):
        return _check_web(href)
    if scheme == "mailto":
        return None if _MAIL.fullmatch(rest) and "#" not in rest else f"`{href}` is not a mail address"
    if scheme == "tel":
        return None if _TEL.fullmatch(rest) else f"`{href}` is not a phone number"
    return f"links with the scheme `{scheme}:` are not allowed"


def refused(href: str) -> bool:
    """Whether an address that `check` rejects has a scheme that pages may not use (else it is malformed)."""
    folded = re.sub(r"[\x00-\x20\x7f-\xa0\s]+", "", href)
    match = _SCHEME.match(folded)
    return folded.startswith("//") or (match is not None and match[1].lower() not in ("http", "https", "mailto", "tel"))


def meant(href: str) -> str:
    """The address that was probably meant by one that is none, or that is only a path; '' where nothing is likely.

    >>> meant("me@example.org"), meant("www.example.org/a"), meant("tel:+49 30 1234")
    ('mailto:me@example.org', 'https://www.example.org/a', 'tel:+49301234')
    """
    guess = ""
    if check(href) is None and classify(href) != "path":
        return ""
    if _MAIL.fullmatch(href) and "." in href.rpartition("@")[2] and not _FILE_OF_TWO.fullmatch(href):
        guess = f"mailto:{href}"
    elif href[:4].lower() == "www.":
        guess = f"https://{href}"
    elif found := _HALF_WEB.match(href):
        guess = f"{found[1].lower()}://{href[found.end() :]}"
    elif check(href) is not None and (found := _DIALLED.fullmatch(href)):
        guess = "tel:" + re.sub(r"[ /\u00a0]", "", found[1])
    return guess if guess and check(guess) is None else ""


def anchor_target(href: str) -> str:
    """The id that an anchor names, percent-decoded; '' for `#`.

    >>> anchor_target("#%E4%BE%A1%E6%A0%BC")
    '価格'
    """
    return unquote(href[1:])


def _check_web(href: str) -> str | None:
    match = _WEB.fullmatch(href)
    if match is None or not match[1]:
        return f"`{href}` has no host"
    host = match[1]
    if "@" in host:
        return "an address may not have a user name or a password"
    host, colon, port = host.partition(":")
    if colon and not (port.isascii() and port.isdigit() and int(port[:6]) < 65536 and len(port) < 6):
        return f"`{port}` is not a port"
    return None if _is_host(host) else f"`{host}` is not a host name"


def _is_host(host: str) -> bool:
    # Browsers compare hosts after NFKC, which can bring a mark, a dot or a number to light.
    host = unicodedata.normalize("NFKC", host).replace("。", ".").removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    if any(unicodedata.category(label[0])[0] == "M" for label in labels):
        return False
    if labels[-1].isdigit() or re.fullmatch(r"0[xX][0-9a-fA-F]*", labels[-1]):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            return False
    try:
        for label in labels:
            if label[:4].lower() == "xn--":
                label[4:].encode("ascii").decode("punycode")
            elif not label.isascii():
                label.encode("idna")
    except UnicodeError:
        return False
    return True


def _name(char: str) -> str:
    if char == " ":
        return "a space (write %20)"
    if char.isspace() or not char.isprintable():
        return f"the character U+{ord(char):04X}"
    return f"the character `{char}`"
