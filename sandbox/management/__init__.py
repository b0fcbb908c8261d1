"""Management commands of the sandbox gateway."""
