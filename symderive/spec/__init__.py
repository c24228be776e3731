"""The spec language: a YAML file -> :class:`symderive.spec.model.Spec`."""

from symderive.spec.resolve import load, loads

__all__ = ["load", "loads"]
