"""One file per gateway: each maps one outside system to the types of `base`."""
