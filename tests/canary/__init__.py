"""Tests of the canary."""
