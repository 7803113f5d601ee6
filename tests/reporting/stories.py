"""Made-up answers with their stories, and texts that would like to be more than text."""

from __future__ import annotations

from pagecompiler.engine.types import Candidate, Completion, FinishReason, GenerationEvent, TracedToken
from pagecompiler.reporting.attempts import Attempts

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></svg>]]>-->{{ 7*7 }}{% raw %}",
    "\u202etxet desrever\u202c",
    "\u0301combining",
    "\0\x07\x1b[31m",
    "\ufdd0\U0001ffff\ud800",
    "A\u030a",
    "\ue000private",
    "```",
)


def story(*texts: str) -> list[TracedToken]:
    """Every second token guessed, every third guess of these refused."""
    tokens = []
    for number, text in enumerate(texts):
        candidates = (Candidate(text, 0.9), *(Candidate(f"{text}{other}", 0.02) for other in range(4)))
        guessed, refused = number % 2 == 1, number % 6 == 5
        tokens.append(
            TracedToken(
                text,
                source="mtp" if guessed else "",
                accepted=guessed and not refused,
                refused=f"{text}0" if refused else "",
                refused_rank=2 if refused else 0,
                candidates=candidates,
            )
        )
    return tokens


def events(
    number: int, tokens: list[TracedToken], *, start: float = 0.0, seconds: float = 1.0
) -> list[GenerationEvent]:
    """A request that is admitted at `start`, told of in two halves and done after `seconds`."""
    middle = len(tokens) // 2
    accepted = sum(token.accepted for token in tokens)
    drafted = accepted + sum(token.refused_rank > 0 for token in tokens)
    text = "".join(token.text for token in tokens)
    done = Completion(
        text,
        tuple(range(len(tokens))),
        FinishReason.DONE,
        seconds,
        prompt_tokens=80,
        prompt_reused=60,
        target_passes=9,
        draft_passes=7,
        drafted=drafted,
        accepted=accepted,
        accepted_by_position=(accepted,),
    )
    return [
        GenerationEvent(number, "admitted", at=start),
        GenerationEvent(number, "text", at=start + seconds / 4, trace=tuple(tokens[:middle])),
        GenerationEvent(number, "text", at=start + seconds / 2, trace=tuple(tokens[middle:])),
        GenerationEvent(number, "finished", at=start + seconds, tokens=len(tokens), completion=done),
    ]


def attempts(*answers: tuple[str, str, list[GenerationEvent]]) -> Attempts:
    """Attempts at blocks: (block, group, events)."""
    found = Attempts()
    everything = [(event, block, group) for block, group, heard in answers for event in heard]
    for event, block, group in sorted(everything, key=lambda each: each[0].at):
        found.take(event, block, group)
    return found
