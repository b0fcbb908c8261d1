"""Routing: what may serve a request, and how the request is built, sent and recorded."""
