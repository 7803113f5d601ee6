"""The tokenizer and the chat template of Qwen3.5, without its weights: `make fixtures` puts them here.

llama.cpp's file for this tokenizer splits text as Qwen3.5 does and has the 151,936 tokens of the generation before;
Qwen3.5 has 248,320, most of the additional ones for other scripts. So counts of markup are those of Qwen3.5 or
slightly above.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pagecompiler.engine.llama.chat import ChatTemplate, PromptWriter
from pagecompiler.engine.llama.library import Model, native

FIXTURES = Path(__file__).parent / "fixtures"
VOCABULARY, TEMPLATE = FIXTURES / "ggml-vocab-qwen35.gguf", FIXTURES / "Qwen3.5-4B.jinja"


class Vocabulary(Model):
    """The tokenizer of a file that holds nothing else."""

    def __init__(self, path: Path) -> None:
        native.llama_backend_init()
        parameters = native.llama_model_default_params()
        parameters.vocab_only = True
        self._pointer = native.llama_model_load_from_file(str(path).encode(), parameters)
        self._vocab = native.llama_model_get_vocab(self._pointer)
        self.size = int(native.llama_vocab_n_tokens(self._vocab))
        self.begin_token = int(native.llama_vocab_bos(self._vocab))
        self.end_token = int(native.llama_vocab_eos(self._vocab))
        self.adds_begin = bool(native.llama_vocab_get_add_bos(self._vocab))
        self._pieces, self._ends = {}, {}


def need_fixtures() -> None:
    """Skip where `make fixtures` was not run; in continuous integration that is a failure."""
    if not VOCABULARY.exists():
        missing = "the vocabulary of Qwen3.5 is not here: make fixtures"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)


def chat_template(vocabulary: Model) -> ChatTemplate:
    """The template that Qwen3.5-4B comes with, which all sizes share."""
    return ChatTemplate(
        TEMPLATE.read_text(encoding="utf-8"),
        begin_text=vocabulary.token_text(vocabulary.begin_token),
        end_text=vocabulary.token_text(vocabulary.end_token),
    )


def prompt_writer(vocabulary: Model) -> PromptWriter:
    """Writes the prompts as the engine would for Qwen3.5."""
    return PromptWriter(vocabulary, chat_template(vocabulary))
