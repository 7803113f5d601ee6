"""Which model a set of servers has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pagecompiler.engine.base import EngineError, ModelLoadError
from pagecompiler.engine.openai.client import Client, engine_key
from pagecompiler.engine.openai.faults import HINTS, FaultKind, SendError, tidy

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0


def discover(urls: Sequence[str], wanted: str | None, *, seconds: float = ANSWER_SECONDS) -> str:
    """The name of the model to ask the servers for: `wanted` if they have it, else the only one they all have.

    Servers that do not answer may be tried again later; one has to answer. Raises ModelLoadError when the servers
    have not the one model, and EngineError when none answers.
    """
    answers = asyncio.run(_ask_all(urls, seconds))
    lists = {url: names for url, names in answers.items() if not isinstance(names, SendError)}
    if not lists:
        faults = {url: fault for url, fault in answers.items() if isinstance(fault, SendError)}
        kinds = {fault.kind for fault in faults.values()}
        said = "; ".join(f"{url}: {fault}" for url, fault in faults.items())
        hint = HINTS.get(kinds.pop() if len(kinds) == 1 else FaultKind.DOWN, "")
        raise EngineError(f"no server can be used: {said}", hint=hint)
    if wanted is not None:
        missing = [url for url, names in lists.items() if wanted not in names]
        if missing:
            raise ModelLoadError(f"{missing[0]} has no model `{wanted}`, it has {_list(lists[missing[0]])}")
        return wanted
    first, names = next(iter(lists.items()))
    common = [name for name in names if all(name in other for other in lists.values())]
    if not common:
        told = "; ".join(f"{url} has {_list(names)}" for url, names in lists.items())
        raise ModelLoadError(f"the servers have no model in common: {told}")
    if len(common) > 1:
        raise ModelLoadError(f"{first} has several models, {_list(common)}", hint="choose one with --model")
    return common[0]


async def _ask_all(urls: Sequence[str], seconds: float) -> dict[str, tuple[str, ...] | SendError]:
    answers = await asyncio.gather(*(_ask(url, seconds) for url in urls))
    return dict(zip(urls, answers, strict=True))


async def _ask(url: str, seconds: float) -> tuple[str, ...] | SendError:
    client = Client(url, engine_key(), connect_seconds=CONNECT_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            return await client.models()
    except SendError as fault:
        return fault
    except TimeoutError:
        return SendError(FaultKind.DOWN, "the server does not answer")
    finally:
        await client.close()


def _list(names: Sequence[str]) -> str:
    return tidy(", ".join(f"`{name}`" for name in names)) or "none"
