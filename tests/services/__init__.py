"""Real servers and processes for tests, started from wheels when none is given."""
