"""The commands of `pagec`, one file a subject; cli.py puts them together."""
