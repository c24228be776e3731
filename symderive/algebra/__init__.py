"""Index algebra on SymPy nodes: building, differentiating, rewriting, and turning back into syntax."""
