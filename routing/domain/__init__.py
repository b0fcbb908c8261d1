"""Plain Python rules of routing: no Django, no network, no clock."""
