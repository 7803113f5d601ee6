"""The model's byte-level BPE vocabulary, the same for `tokenizers` (training) and llama.cpp (`qwen35` pre-tokenizer).

Numbers are single digits and slots are ordinary tokens. Only three tokens are control tokens. Every content is
tokenised on its own, as pagec's engine does, so no token spans the border of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from pagecompiler.engine.types import Message

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CONTROL_TOKENS = (END_OF_TEXT, START, END)

MAX_VOCABULARY = 1024

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

# llama.cpp's `qwen35` pre-tokenizer, word by word.
_PATTERN = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
    r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """A vocabulary of at most `MAX_VOCABULARY` tokens; the control tokens have the ids 0, 1 and 2."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(_PATTERN), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=MAX_VOCABULARY,
        min_frequency=20,
        special_tokens=list(CONTROL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def load_tokenizer(path: Path) -> Tokenizer:
    """The vocabulary that `prepare` has written."""
    return Tokenizer.from_file(str(path))


def tokenizer_text(messages: Sequence[Message], answer: str) -> str:
    """A sample as one text, for training the vocabulary."""
    turns = [*messages, Message("assistant", answer)]
    return "".join(f"{START}{turn.role}\n{turn.content}{END}\n" for turn in turns)


class SampleEncoder:
    """Messages and answers to ids, part by part; the fixed parts are encoded once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The ids up to and with the line break after `assistant`."""
        ids: list[int] = []
        for i, message in enumerate(messages):
            ids += self._fixed(f"{END}\n{START}{message.role}\n" if i else f"{START}{message.role}\n")
            ids += self._fixed(message.content) if message.role == "system" else self._encode(message.content)
        return ids + self._fixed(f"{END}\n{START}assistant\n")

    def answer(self, text: str) -> list[int]:
        """The ids of an answer and the end token."""
        return [*self._encode(text), *self._fixed(END)]

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _fixed(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._encode(text)
        return self._known[text]
