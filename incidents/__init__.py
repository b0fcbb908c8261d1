"""Incidents: the append-only decision log and the notifications that follow from it."""
