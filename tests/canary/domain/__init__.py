"""Tests of the canary's rules, named after what the rules say."""
