"""One service for the tests of a module; each test opens companies of its own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from share_tests.service.server import Company, Service, serving
from share_tests.store.conftest import postgres

__all__ = ["postgres"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


@pytest.fixture
def company(service: Service, http: httpx.Client) -> Company:
    return service.company(http)
