"""The admin site of Routewarden: plain Django admin under our name and theme, with a first page of its own."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path
from django.utils.functional import SimpleLazyObject

View = Callable[[HttpRequest], HttpResponse]


class RoutewardenAdminSite(AdminSite):
    """The one site all pages live in. Apps add their pages to it in their `admin` modules, as they add models."""

    site_header = "Routewarden"
    site_title = "Routewarden"
    index_title = "Fleet"
    site_url = None
    enable_nav_sidebar = True

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self._first_page: Callable[[HttpRequest], dict[str, Any]] = lambda _request: {}
        self._further_pages: list[URLPattern] = []
        self._context: dict[str, Callable[[], object]] = {}

    def put_first(self, read: Callable[[HttpRequest], dict[str, Any]]) -> None:
        """Make what `read` gives the context of the first page (templates/admin/index.html)."""
        self._first_page = read

    def add_page(self, route: str, view: View, *, name: str) -> None:
        """Add a page that belongs to no model; it checks its own permission."""
        self._further_pages.append(path(route, view, name=name))

    def add_context(self, name: str, read: Callable[[], object]) -> None:
        """Give every page the variable `name`; it is read only where a template uses it."""
        self._context[name] = read

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """With the further pages."""
        return [*self._further_pages, *super().get_urls()]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """With the further variables."""
        added = {name: SimpleLazyObject(read) for name, read in self._context.items()}
        return {**super().each_context(request), **added}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """The first page."""
        return super().index(request, {**(extra_context or {}), **self._first_page(request)})


class RoutewardenAdminConfig(AdminConfig):
    """Makes `RoutewardenAdminSite` the default site."""

    default_site = "config.admin_site.RoutewardenAdminSite"
