"""Judges of text: plain functions used by probes and by acceptance alike."""
