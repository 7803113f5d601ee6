"""Writes each block by rule, without a model: the no-model baseline, and the teacher of the embedded model."""

from pagecompiler.engine.reference.engine import ReferenceEngine, write

__all__ = ["ReferenceEngine", "write"]
