"""Commands of routing."""
