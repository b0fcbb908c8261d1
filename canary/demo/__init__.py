"""What `manage.py demo` tells: which invented models it watches, and when its story is complete."""
