"""Canary: probes every endpoint, judges the answers, scores rounds and suspends what fails."""
