"""The test suite; `tests/plugin.py` says how its surroundings are made."""
