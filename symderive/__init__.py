"""symderive: a symbolic derivation checker for tensor gradients."""
