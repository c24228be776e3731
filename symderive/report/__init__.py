"""Results and derivations as text, tables and JSON."""
