"""One file per contract: its prompt and its verdict."""
