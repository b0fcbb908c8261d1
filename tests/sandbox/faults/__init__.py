"""Tests of the kinds of faults."""
