"""For each rule, one listed change of the code that some test must notice."""
