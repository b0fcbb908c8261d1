"""Plain Python rules of the canary: verdicts, scoring, suspension, schedule, statistics."""
