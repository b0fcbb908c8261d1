"""Plain Python rules of incidents: the closed lists of decisions and their words."""
