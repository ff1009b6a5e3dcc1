"""The gateway over a fake service, reached by the SDK's own client and by plain HTTP."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from siltstone.gateway import Gateway

FAKE_PATH = Path(__file__).with_name("fake_service.py")


def _load_fake() -> Any:
    spec = importlib.util.spec_from_file_location("siltstone_gateway_fake_service", FAKE_PATH)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


FakeClient = _load_fake().FakeClient


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def _shared_fake() -> Any:
    return FakeClient()


@pytest.fixture
def fake(_shared_fake: Any) -> Any:
    """The service behind `gateway`, emptied."""
    _shared_fake.reset()
    return _shared_fake


@pytest.fixture
def fake_path() -> Path:
    return FAKE_PATH


@pytest.fixture(scope="session")
def _shared_gateway(_shared_fake: Any) -> Iterator[Gateway]:
    shared = {"connect": lambda: _shared_fake, "allowed_hosts": ["memory.test"]}
    with Gateway(address="127.0.0.1:0", **shared) as running:
        yield running


@pytest.fixture
def gateway(_shared_gateway: Gateway, fake: Any) -> Gateway:
    return _shared_gateway


@pytest.fixture(scope="session")
def _shared_http(_shared_gateway: Gateway) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"http://{_shared_gateway.address}", timeout=20) as client:
        yield client


@pytest.fixture
def http(_shared_http: httpx2.Client, fake: Any) -> httpx2.Client:
    return _shared_http
