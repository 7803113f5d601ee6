"""Engines turn requests into text. They know nothing of HTML."""
