"""Admin pages of the canary, and the fleet as the site's first page."""

from typing import cast

from django.contrib import admin

from canary import selectors, views
from canary.admin import endpoints, rounds, suspensions, watched
from config.admin_site import RoutewardenAdminSite

__all__ = ["endpoints", "rounds", "suspensions", "watched"]

site = cast(RoutewardenAdminSite, admin.site)
site.put_first(views.fleet_context)
site.add_page("fleet/", views.fleet_parts, name="fleet")
site.add_context("enforcement", selectors.switch)
