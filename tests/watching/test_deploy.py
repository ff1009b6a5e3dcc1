"""The dashboard and the alerts name figures that there are."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
import siltstone
from prometheus_client.parser import text_string_to_metric_families
from siltstone.config import Settings
from siltstone.gateway import Gateway
from siltstone.server import serve

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana/siltstone.json").read_text("utf-8"))
ALERTS = (DEPLOY / "siltstone-alerts.yml").read_text("utf-8")
SELECTOR = re.compile(r"((?:siltstone|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    return [*panels, *re.findall(r"expr: (.*)", ALERTS)]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, str]]]:
    """Name → the labels of each of its samples, of a service that was used and once refused."""
    data = tmp_path_factory.mktemp("data")
    with siltstone.open(data, settings=Settings(embedding_model="hashing")) as mem:
        server = serve(mem.engine, address="127.0.0.1:0")
        with (
            Gateway(server.address, address="127.0.0.1:0") as gateway,
            httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
        ):
            http.post("/v1/WriteMemories", json={"drafts": [{"content": "用过一次"}]})
            http.post("/v1/SearchMemories", json={"query": ""})
            text = http.get("/metrics").text
        server.stop()
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(dict(sample.labels))
    return found


def test_the_dashboard_has_what_a_panel_needs() -> None:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    assert len(panels) >= 12
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in panels:
        assert panel["targets"], panel["title"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


@pytest.mark.parametrize("expression", expressions())
def test_every_figure_that_is_named_exists_with_its_labels(samples: Any, expression: str) -> None:
    named = SELECTOR.findall(expression)
    assert named, expression
    grouped = {label for by in re.findall(r"by \(([^)]*)\)", expression) for label in re.split(r",\s*", by)}
    for name, selector in named:
        assert name in samples, name
        labels = set().union(*(sample.keys() for sample in samples[name]))
        assert grouped <= labels, expression
        for label, value in re.findall(r'(\w+)="([^"]*)"', selector):
            assert label in labels
            # Reasons appear when they happen.
            assert label == "reason" or value in {sample.get(label) for sample in samples[name]}


def test_every_reason_in_an_alert_is_one_the_code_gives() -> None:
    source = "".join(path.read_text("utf-8") for path in (DEPLOY.parent / "python/siltstone").rglob("*.py"))
    for reason in re.findall(r'reason="(\w+)"', ALERTS):
        assert f'reason="{reason}"' in source
