"""What the tests of reports share: one browser for all pages."""

import pytest

from tests.report import browser as chromium


@pytest.fixture(scope="session")
def browser():
    """Return a headless browser; the tests that need it are skipped with the reason where there is none."""
    with chromium.started() as found:
        yield found
