"""The packages: those of the source tree, and the catalogue, which is installed inside as ``symderive.derivations``."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["symderive*"]), "symderive.derivations"])
