"""Probe prompts, one data file per language."""
