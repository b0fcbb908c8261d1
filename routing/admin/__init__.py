"""Admin pages of routing: exclusions and the enforcement switch, the catalogue and attempts.

Models and endpoints have their pages in the canary app, which knows how they stand.
"""

from routing.admin import catalogue, exclusions

__all__ = ["catalogue", "exclusions"]
