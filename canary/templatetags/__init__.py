"""Template tags of the canary pages."""
