"""Tests of routing: catalogue, exclusions, snapshot, façade and commands."""
