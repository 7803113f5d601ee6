"""Reads the description of a block back into fields.

kind: features                    Description(kind="features",
{{1}} heading line          →        fields={"heading": Word("{{1}}", "line")},
items:                                lists={"items": [{"title": Word("{{2}}", "short")}]})
- {{2}} title short
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """A slot as written, `{{1}}`, and its class; for plain lines (`font: serif`) only the class is set."""

    slot: str
    length: str

    @property
    def long(self) -> bool:
        return self.length == "long"


Item = dict[str, Word]


@dataclass(slots=True)
class Description:
    """A parsed block description. Entries of a list that are one word have the key ``""``."""

    kind: str
    fields: dict[str, Word] = field(default_factory=dict)
    lists: dict[str, list[Item]] = field(default_factory=dict)

    def items(self, name: str = "items") -> list[Item]:
        return self.lists.get(name, [])

    def words(self, name: str) -> list[Word]:
        """The words of a list whose entries are one word each."""
        return [entry[""] for entry in self.items(name)]


def parse_description(text: str) -> Description:
    """Parse the lines that `slots.py` writes. Raises ValueError on any other text."""
    lines = text.strip().splitlines()
    if not lines or not lines[0].startswith("kind: "):
        raise ValueError("a block description begins with its kind")
    result = Description(lines[0].removeprefix("kind: "))
    items: list[Item] | None = None
    for line in lines[1:]:
        if line.startswith(("- ", "  ")):
            if items is None:
                raise ValueError(f"an item outside a list: {line!r}")
            if line.startswith("- "):
                items.append({})
            name, word = _entry(line[2:])
            items[-1][name] = word
        elif line.endswith(":"):
            items = result.lists.setdefault(line[:-1], [])
        else:
            items = None
            name, word = _entry(line)
            result.fields[name] = word
    return result


def _entry(text: str) -> tuple[str, Word]:
    if not text.startswith("{{"):
        name, _, value = text.partition(": ")
        return name, Word("", value)
    slot, *name_and_length = text.split(" ")
    return " ".join(name_and_length[:-1]), Word(slot, name_and_length[-1])
