"""What a YAML parser stumbled over, in words for the person who typed it.

The parsers name their own inner states ("did not find expected key"), often lines after the cause. Here
the source itself is looked at: most of these mistakes are one value that needs quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from pagecompiler.diagnostics import Diagnostic

if TYPE_CHECKING:
    from pagecompiler.yaml_source import Source

# `- - key: value` with the value's start; the key may be quoted.
_LINE = re.compile(
    r"""[ ]*(?:-[ ]+)*"""
    r"""(?:(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"#\[\]{},&*!|>%@`-][^#]*?)[ ]*:[ ]+)?"""
    r"""(?P<value>[^\s#].*?)?[ ]*"""
)
_GLUED = re.compile(r"[A-Za-z]\w*:(?=[^\s/])")
_CLOSING = {"[": "]", "{": "}"}
_MAX_LINE = 4000
_ESCAPES = ("unknown escape", "escape code", "hexadecimal", "escape sequence")

Fence = tuple[int, int]


def explain_error(source: Source, text: str, error: yaml.MarkedYAMLError) -> tuple[Diagnostic, Fence | None]:
    """The finding, and the value that can be left out to read on.

    For `title: Tea: the guide` that is E0105 and the range of `Tea: the guide`.
    """
    return _Reader(source, text, error).explain()


def quote_hint(value: str) -> str:
    """The value in quotes, if it is short enough to be shown; else ''."""
    if len(value) > 40 or "\n" in value:
        return ""
    if '"' not in value and "\\" not in value:
        return f'write "{value}"'
    return f"write '{value}'" if "'" not in value else ""


def glued_key(text: str) -> str:
    """The key of a text like `title:Tea`, which YAML takes for one word: `title:`; else ''."""
    found = _GLUED.match(text)
    return found[0] if found else ""


class _Reader:
    def __init__(self, source: Source, text: str, error: yaml.MarkedYAMLError) -> None:
        self._source = source
        self._text = text
        self._problem = f"{error.context or ''} {error.problem or ''}"
        mark = error.problem_mark or error.context_mark
        self._at = min(mark.index if mark else 0, len(text))
        self._context = error.context_mark.index if error.context_mark else self._at

    def explain(self) -> tuple[Diagnostic, Fence | None]:
        return self._cause_above() or self._cause_here()

    def _cause_here(self) -> tuple[Diagnostic, Fence | None]:
        at, char = self._at, self._text[self._at : self._at + 1]
        if char == "\t" or (self._text[:at].rpartition("\n")[2].strip(" \t") == "" and "\t" in self._indent(at)):
            return self._tab()
        if "cannot start any token" in self._problem:
            return self._begins(at)
        if "scanning an alias" in self._problem or "scanning an anchor" in self._problem:
            return self._begins(self._context)
        if "quoted scalar" in self._problem or "quoted" in self._problem:
            return self._quoted()
        if "block scalar" in self._problem:
            return self._begins(self._context)
        if "sequence entries are not allowed" in self._problem:
            return self._begins(at) if self._value_start(at) == at else self._other()
        if "mapping values are not allowed" in self._problem:
            return self._colon()
        if "flow" in self._problem:
            return self._flow()
        if "node content" in self._problem and char and char in "}],":
            return self._begins(at)
        if "expected key" in self._problem or "block end" in self._problem:
            return self._after_value()
        if "expected '-'" in self._problem:
            return self._fail("E0104", "a list and `key: value` lines stand side by side", at, "indent one of them")
        if "expected ':'" in self._problem or "could not find expected" in self._problem:
            if glued := self._glued(self._context):
                return glued
            message = "this line is neither `key: value` nor `- item`"
            hint = "to go on with the text of the line above, indent this line more than its key"
            return self._fail("E0104", message, self._context, hint)
        return self._other()

    # Each answer is a finding and, where only one value is wrong, its range.

    def _cause_above(self) -> tuple[Diagnostic, Fence] | None:
        """A quote or a bracket of a line above that took in what follows: here nothing is wrong."""
        at = self._at
        quote = self._text[at - 1 : at]
        if quote and quote in "\"'" and self._text.count(quote, self._line(at)[0], at) % 2:
            opened = self._odd_quote_above(at, quote)
            if opened is not None:
                end = self._line_end(opened)
                message = f"the quote {quote} opened here is not closed in this line"
                return self._source.diagnostic("E0107", message, opened, end), (opened, end)
        return self._hidden_end(self._text.rfind("\n", 0, at))

    def _hidden_end(self, offset: int) -> tuple[Diagnostic, Fence] | None:
        """`[a, #b]` in the line that ends at `offset`: the comment has the bracket that should have closed."""
        start, line = self._line(max(0, offset - 1))
        head, hash_sign, comment = line.partition(" #")
        unclosed = (
            place
            for place, char in enumerate(head)
            if char in _CLOSING and head.count(char, place) > head.count(_CLOSING[char], place)
        )
        opening = next(unclosed, None)
        if offset < 0 or not hash_sign or opening is None or _CLOSING[head[opening]] not in comment:
            return None
        fence = start + opening, self._line_end(start)
        if head.rstrip().endswith(":"):
            message = "there is no value here: `#` begins a comment"
            return self._source.diagnostic("E0116", message, start + len(head) + 1, fence[1]), fence
        message, hint = f"`{head[opening]}` is never closed", "a `#` after a space begins a comment: quote that text"
        return self._source.diagnostic("E0104", message, *fence, hint), fence

    def _begins(self, start: int) -> tuple[Diagnostic, Fence | None]:
        char = self._text[start : start + 1]
        if not char or char.isspace():
            return self._other()
        end = self._flow_end(start) if self._in_flow(start) else self._line_end(start)
        shown = "a backtick" if char == "`" else f"`{char}`"
        message = f"a text that begins with {shown} must be quoted"
        return self._source.diagnostic("E0105", message, start, end, self._hint(start, end)), (start, end)

    def _colon(self) -> tuple[Diagnostic, Fence | None]:
        start = self._value_start(self._at)
        if start is None or start >= self._at:
            above = self._text.rfind("\n", 0, self._at)
            if above > 0 and (glued := self._glued(self._value_start(above - 1) or 0)):
                return glued
            message = "this line is indented deeper than the line above, which has a value already"
            hint = "give it the indentation of the line above"
            return self._fail("E0104", message, self._line_text_start(self._at), hint)
        end = self._line_end(start)
        message = "a text with `: ` in it must be quoted"
        return self._source.diagnostic("E0105", message, start, end, self._hint(start, end)), (start, end)

    def _glued(self, start: int) -> tuple[Diagnostic, None] | None:
        """`title:Tea`, which is one word."""
        key = glued_key(self._text[start : start + _MAX_LINE])
        hint = "a colon with a space behind it ends a key"
        return self._fail("E0104", f"there is no space behind `{key}`", start, hint) if key else None

    def _quoted(self) -> tuple[Diagnostic, Fence | None]:
        start = self._context
        quote = self._text[start : start + 1]
        if any(name in self._problem for name in _ESCAPES):
            slash = self._text.rfind("\\", 0, self._at + 1)
            slash = max(slash, start)
            code, message = "E0104", f"`{self._text[slash : slash + 2]}` is not an escape that YAML knows"
            if re.match(r"\\u[dD][89a-fA-F]", self._text[slash : slash + 4]):
                code, message = "E0103", "half of a surrogate pair is not a character"
            hint = r"write \\ for a backslash in double quotes, or use single quotes"
            end = min(slash + 2, self._line_end(slash))
            return self._source.diagnostic(code, message, slash, end, hint), (slash, end)
        end = self._line_end(start)
        finding = self._source.diagnostic("E0107", f"the quote {quote} opened here is never closed", start, end)
        return finding, (start, end)

    def _after_value(self) -> tuple[Diagnostic, Fence | None]:
        """Something follows a complete value: text after quotes or brackets, or a wrong indentation."""
        at = self._at
        start = self._value_start(at)
        if start is not None and start < at:
            first = self._text[start]
            if first in "\"'":
                end = self._line_end(start)
                message = "there is text after the closing quote"
                return self._source.diagnostic("E0107", message, at, max(at + 1, end)), (start, end)
            if first in "[{":
                end = self._line_end(start)
                message = f"a text that begins with `{first}` must be quoted"
                return self._source.diagnostic("E0105", message, start, end, self._hint(start, end)), (
                    start,
                    end,
                )
        if (start is not None and start == at) or self._line_text_start(at) == at:
            message = "the indentation of this line fits no line above"
            return self._fail("E0104", message, at, "lines of one mapping or list have the same indentation")
        return self._other()

    def _flow(self) -> tuple[Diagnostic, Fence | None]:
        at, start = self._at, self._context
        char = self._text[at : at + 1]
        if "node content" in self._problem or "expected the node content" in self._problem:
            if char == ",":
                return self._fail("E0202", "there is nothing between two commas", at, 'write "" for an empty text')
            if char and char in "?-|>:":
                return self._begins(at)
            start, line = self._line(self._context if self._context < at else max(0, len(self._text.rstrip()) - 1))
            if comment := re.search(r":[ ]+(#\S.*)", line):
                first, last = start + comment.start(1), start + len(line.rstrip())
                message = "there is no value here: `#` begins a comment"
                return self._source.diagnostic("E0116", message, first, last), None
        same_line = "\n" not in self._text[start:at]
        if same_line and char and char not in "\n":
            return self._flow_value(start, at)
        opening = self._nearest_opening(at)
        end = self._line_end(opening)
        bracket = self._text[opening : opening + 1]
        closing = _CLOSING.get(bracket)
        if closing is None:
            return self._other()
        hint = f"close it with `{closing}`, or quote the text if it begins with `{bracket}`"
        if self._text.count('"', opening, end) % 2:
            hint = 'close the quote `"` in this line'
        elif " #" in self._text[opening:end]:
            hint = "a `#` after a space begins a comment: quote that text"
        return self._source.diagnostic("E0104", f"`{bracket}` is never closed", opening, end, hint), (
            opening,
            end,
        )

    def _flow_value(self, start: int, at: int) -> tuple[Diagnostic, Fence | None]:
        """`{text: What? Yes: no}`: quote from behind the first `: ` of this entry to its end."""
        head = max(self._text.rfind(mark, start, at) for mark in ("{", "[", ",")) + 1
        colon = self._text.find(": ", head, at)
        head = colon + 2 if colon >= 0 else head
        head += len(self._text[head:at]) - len(self._text[head:at].lstrip())
        end = self._flow_end(at)
        if self._text[head : head + 1] in ('"', "'"):
            message = "there is text after the closing quote"
            return self._source.diagnostic("E0107", message, at, max(at + 1, end)), (head, max(end, at + 1))
        message = "a text with `:`, `?`, `[` or `{` in it must be quoted inside brackets"
        return self._source.diagnostic("E0105", message, head, max(end, head + 1), self._hint(head, end)), (
            head,
            max(end, head + 1),
        )

    def _tab(self) -> tuple[Diagnostic, Fence | None]:
        start = self._text.rfind("\n", 0, self._at) + 1
        tab = self._text.find("\t", start)
        tab = tab if tab >= 0 else self._at
        length = len(self._text[tab:]) - len(self._text[tab:].lstrip("\t"))
        return self._source.diagnostic("E0106", "there is a tab here", tab, tab + max(1, length)), None

    def _other(self) -> tuple[Diagnostic, Fence | None]:
        return self._fail("E0104", "this is not YAML", self._at, "")

    def _fail(self, code: str, message: str, start: int, hint: str) -> tuple[Diagnostic, None]:
        start = min(start, max(0, len(self._text.rstrip()) - 1))
        end = max(start + 1, self._line_end(start))
        return self._source.diagnostic(code, message, start, end, hint), None

    # Looking at the text.

    def _line(self, offset: int) -> tuple[int, str]:
        start = self._text.rfind("\n", 0, offset) + 1
        end = self._text.find("\n", offset)
        return start, self._text[start : len(self._text) if end < 0 else end][:_MAX_LINE]

    def _indent(self, offset: int) -> str:
        line = self._line(offset)[1]
        return line[: len(line) - len(line.lstrip())]

    def _line_text_start(self, offset: int) -> int:
        return self._line(offset)[0] + len(self._indent(offset))

    def _line_end(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        end = len(self._text) if end < 0 else end
        return max(offset, offset + len(self._text[offset:end].rstrip()))

    def _value_start(self, offset: int) -> int | None:
        """Where the value begins in this line, behind `- ` and `key: `."""
        start, line = self._line(offset)
        match = _LINE.fullmatch(line)
        if match is None or match["value"] is None:
            return None
        return start + match.start("value")

    def _odd_quote_above(self, offset: int, quote: str) -> int | None:
        """The last quote in the nearest line above that has an odd number of them."""
        end = self._text.rfind("\n", 0, offset)
        for _ in range(200):
            if end < 0:
                return None
            start = self._text.rfind("\n", 0, end) + 1
            if self._text.count(quote, start, end) % 2:
                value = self._value_start(start)
                if value is not None and self._text[value] == quote:
                    return value
            end = start - 1
        return None

    def _in_flow(self, offset: int) -> bool:
        start, line = self._line(offset)
        before = line[: offset - start]
        return before.count("{") > before.count("}") or before.count("[") > before.count("]")

    def _flow_end(self, offset: int) -> int:
        """Where the text at `offset` ends, its own brackets included: before `,`, `]`, `}` or the line's end."""
        depth, end = 0, offset
        for end in range(offset, min(len(self._text), offset + _MAX_LINE)):
            char = self._text[end]
            if char == "\n" or (depth == 0 and char in ",]}" and end > offset):
                break
            depth += (char in "[{") - (char in "]}")
        else:
            end += 1
        return max(offset + 1, offset + len(self._text[offset:end].rstrip()))

    def _nearest_opening(self, offset: int) -> int:
        """The bracket that is open at `offset`; the context mark of some parsers is an outer one."""
        start = self._context
        return start if self._text[start : start + 1] in "[{" else self._text.rfind("{", 0, offset)

    def _hint(self, start: int, end: int) -> str:
        return quote_hint(self._text[start:end])
