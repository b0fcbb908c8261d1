"""Management commands of incidents."""
