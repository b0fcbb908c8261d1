"""Benchmarks: measurements against labelled data, run by hand or by `make verdicts` and `make bench`."""
