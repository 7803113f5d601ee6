"""The in-process llama.cpp engine."""
