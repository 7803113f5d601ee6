"""The parts of page validation, one kind of rule a module; `pagecompiler.validate` calls them."""


def names(words: str) -> frozenset[str]:
    """The words of a table that is easier to read as text."""
    return frozenset(words.split())
