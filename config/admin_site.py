"""The admin site of Routewarden: plain Django admin under our name and theme."""

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig


class RoutewardenAdminSite(AdminSite):
    """The one site all pages live in."""

    site_header = "Routewarden"
    site_title = "Routewarden"
    index_title = "Fleet"
    enable_nav_sidebar = True


class RoutewardenAdminConfig(AdminConfig):
    """Makes `RoutewardenAdminSite` the default site."""

    default_site = "config.admin_site.RoutewardenAdminSite"
