"""Sources of guesses, one file a method. How a method is added: docs/drafting.md."""
