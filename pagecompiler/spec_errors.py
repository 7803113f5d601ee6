"""Schema errors in plain words. Nothing that pydantic says reaches the user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from pagecompiler.raw_spec import Found, Place, RawSpec, SpecPath, first_line
from pagecompiler.schema import BRIEF_KINDS, KINDS, PageSpec

MAX_SUGGESTIONS = 200
_NUMBERS = ("int_parsing", "int_type", "int_from_float", "greater_than", "less_than")


def translate(error: ValidationError, raw: RawSpec) -> Iterator[Found]:
    """Code, message, position and hint for each thing that the schema refuses."""
    details = [(_path(item["loc"]), item) for item in error.errors(include_url=False)]
    suggested = set()
    # Beyond that only a number is shown, and looking for similar words is slow.
    for path, item in details[:MAX_SUGGESTIONS]:
        if item["type"] == "extra_forbidden" and (name := _suggestion(path, raw)):
            suggested.add((*path[:-1], name))
    for number, (path, item) in enumerate(details):
        if number >= MAX_SUGGESTIONS and item["type"] == "extra_forbidden":
            yield "E0203", "unknown key", raw.key(path), ""
        elif not raw.is_broken(path) and not (item["type"] == "missing" and path in suggested):
            found = _one(path, dict(item), raw)
            if found is not None:
                yield found


def close_match(word: str, words: Any) -> str:
    """The nearest of some words, or ''."""
    import difflib

    folded = {name.lower(): name for name in words}
    close = difflib.get_close_matches(word.lower()[:100], folded, 1, 0.6)
    return folded[close[0]] if close else ""


def describe(path: SpecPath) -> str:
    """How a place is called in a message: `items[0].title` of the nearest names."""
    shown = ""
    for part in path:
        shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else str(part)
    return shown


def _path(loc: tuple[str | int, ...]) -> SpecPath:
    """pydantic puts the kind of a section behind its number."""
    if len(loc) > 2 and loc[0] == "sections" and isinstance(loc[1], int):
        return (*loc[:2], *loc[3:])
    return loc


def _one(path: SpecPath, item: dict[str, Any], raw: RawSpec) -> Found | None:
    kind = item["type"]
    context = item.get("ctx", {})
    name = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
    if kind == "pagec":
        return context["code"], context["message"], raw.part(path, context["part"]), context["hint"]
    if kind == "missing":
        where = describe(path[:-1])
        message = f"`{where}` needs the key `{name}`" if where else f"the key `{name}` is missing"
        return "E0201", message, _start(path[:-1], raw), f"add `{name}: …`"
    if kind == "extra_forbidden":
        return _unknown(path, name, raw)
    if kind == "union_tag_not_found":
        if raw.is_broken((*path, "kind")):
            return None
        return "E0201", "the section has no `kind`", _start(path, raw), f"kinds: {', '.join(KINDS)}"
    if kind == "union_tag_invalid":
        return _unknown_kind(path, raw)
    if kind == "literal_error":
        choices = _choices(path, raw)
        given = str(item["input"])
        close = close_match(given, choices)
        hint = f"did you mean `{close}`?" if close else f"choices: {', '.join(choices)}"
        return "E0206", f"`{name}` cannot be `{_short(given)}`", raw.at(path), hint
    if kind == "too_long":
        limit = context["max_length"]
        what = "columns" if name == "columns" else "entries"
        span = first_line(raw.at((*path, limit)))
        return "E0207", f"`{name}` has {context['actual_length']} {what}; {limit} are allowed", span, ""
    if kind == "too_short":
        return "E0208", f"`{name}` has no entries", first_line(raw.at(path)), "add an entry"
    if kind.startswith(_NUMBERS):
        return "E0215", f"`{name}` must be a whole number from 1 to 20000", raw.at(path), ""
    return _wrong_shape(path, name, kind, item["input"], raw)


def _unknown(path: SpecPath, name: str, raw: RawSpec) -> Found:
    span = raw.key(path)
    if name == "brief":
        return "E0209", "a `brief` is not allowed here", span, f"it is in hero, {', '.join(BRIEF_KINDS)}"
    close = _suggestion(path, raw)
    allowed = ", ".join(_fields(path[:-1], raw))
    hint = f"did you mean `{close}`?" if close else f"allowed here: {allowed}"
    return "E0203", f"unknown key `{_short(name)}`", span, hint


def _unknown_kind(path: SpecPath, raw: RawSpec) -> Found | None:
    place = (*path, "kind")
    if raw.is_broken(place):
        return None
    given = _value(place, raw)
    if not isinstance(given, str):
        return "E0205", "`kind` must be a word", first_line(raw.at(place)), f"kinds: {', '.join(KINDS)}"
    close = close_match(given, KINDS)
    hint = f"did you mean `{close}`?" if close else f"kinds: {', '.join(KINDS)}"
    return "E0204", f"there is no kind `{_short(given)}`", raw.at(place), hint


def _wrong_shape(path: SpecPath, name: str, kind: str, given: Any, raw: RawSpec) -> Found:
    wanted, hint = "of another shape", ""
    if kind == "string_type":
        wanted, hint = "a text", "write it in one line, or as a block after `|`"
        if isinstance(given, list) and given and all(isinstance(entry, str) for entry in given):
            hint = f"write {_short(', '.join(given))}"
    elif kind == "list_type":
        wanted, hint = "a list", "begin each entry with `- `"
    elif kind.startswith(("model", "dict")):
        fields = _fields(path, raw)
        wanted, hint = "a mapping", f"give it keys: {', '.join(fields)}" if fields else ""
    shape = "a text" if isinstance(given, str) else "a list" if isinstance(given, list) else "a mapping"
    what = f"entry {path[-1] + 1} of `{name}`" if path and isinstance(path[-1], int) else f"`{name}`"
    return "E0205", f"{what} must be {wanted}, not {shape}", first_line(raw.at(path)), hint


def _start(path: SpecPath, raw: RawSpec) -> Place:
    span = raw.at(path)
    value = _value(path, raw)
    if isinstance(value, dict) and value:
        return raw.keys.get((*path, next(iter(value))), first_line(span))
    return first_line(span)


def _suggestion(path: SpecPath, raw: RawSpec) -> str:
    parent = _value(path[:-1], raw)
    taken = parent if isinstance(parent, dict) else {}
    free = [field for field in _fields(path[:-1], raw) if field not in taken]
    return close_match(str(path[-1]), free)


def _choices(path: SpecPath, raw: RawSpec) -> list[str]:
    model = _model(path[:-1], raw)
    annotation = model.model_fields[str(path[-1])].annotation if model else None
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else []


def _fields(path: SpecPath, raw: RawSpec) -> list[str]:
    model = _model(path, raw)
    return list(model.model_fields) if model else []


def _model(path: SpecPath, raw: RawSpec) -> type[BaseModel] | None:
    """The model of the mapping at `path`."""
    model: type[BaseModel] | None = PageSpec
    for depth, part in enumerate(path):
        if model is None:
            return None
        if depth == 1 and path[0] == "sections":
            kind = _value((*path[:2], "kind"), raw)
            model = KINDS.get(kind) if isinstance(kind, str) else None
        elif isinstance(part, str) and not (depth == 0 and part == "sections"):
            field = model.model_fields.get(part)
            model = _inner(field.annotation) if field else None
    return None if path == ("sections",) else model


def _inner(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner(part))), None)


def _value(path: SpecPath, raw: RawSpec) -> Any:
    value = raw.value
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
