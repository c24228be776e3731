"""Options and fixtures of all tests."""

from __future__ import annotations

import pytest

from tests.golden_files import Golden

collect_ignore_glob = ["*.yaml"]  # fixtures; the package's own plugin would take them for tests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files with what is printed now")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text with a golden file, or rewrites the file under ``--update-golden``."""
    return Golden(bool(request.config.getoption("--update-golden")))


@pytest.fixture(scope="session")
def inductor() -> None:
    """Skips where TorchInductor compiles nothing, as under a path with a space in it."""
    from symderive.check.ops_tracing import CannotCompileError, try_out

    try:
        try_out()
    except CannotCompileError as error:
        pytest.skip(f"TorchInductor compiles nothing here: {error}")
