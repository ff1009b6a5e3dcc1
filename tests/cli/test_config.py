import os
from pathlib import Path
from typing import Any

import pytest
from siltstone.cli import main
from siltstone.config import (
    SETTINGS,
    SettingError,
    Settings,
    default_text,
    env_name,
    flag_name,
    load,
    unknown_variables,
)


def test_the_defaults_hold_where_nothing_is_given(tmp_path: Path) -> None:
    settings = load({}, {}, directory=tmp_path)
    assert settings == Settings()
    assert (settings.data, settings.address, settings.gateway_address) == (
        "./data",
        "127.0.0.1:50051",
        "127.0.0.1:8765",
    )
    assert (settings.max_message_bytes, settings.max_content_bytes) == (64 * 1024**2, 1024**2)


def test_flags_beat_variables_beat_the_file_beats_defaults(tmp_path: Path) -> None:
    file = 'max_top_k = 1\nnamespace = "文件"\nworkers = 1\n'
    (tmp_path / "siltstone.toml").write_text(file, encoding="utf-8")
    environ = {"SILTSTONE_MAX_TOP_K": "2", "SILTSTONE_NAMESPACE": "变量", "SILTSTONE_GRACE_S": ""}
    settings = load({"max_top_k": "3", "namespace": None}, environ, directory=tmp_path)
    assert (settings.max_top_k, settings.namespace, settings.workers) == (3, "变量", 1)
    assert settings.grace_s == 10, "an empty variable counts as not set"


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_can_come_from_each_source(tmp_path: Path, name: str) -> None:
    text, typed, meant = {
        "address": ("[::1]:0", "[::1]:0", "[::1]:0"),
        "gateway_address": ("h:1", "h:1", "h:1"),
        "allowed_hosts": ("a, b", ["a", "b"], ("a", "b")),
        "embedding_base_url": ("http://h/v1", "http://h/v1", "http://h/v1"),
        "rerank_base_url": ("http://h", "http://h", "http://h"),
        "rerank_timeout_s": ("7.5", 7.5, 7.5),
        "llm_base_url": ("http://h/v1", "http://h/v1", "http://h/v1"),
        "llm_timeout_s": ("7.5", 7.5, 7.5),
        "llm_max_input_tokens": ("700", 700, 700),
        "llm_max_output_tokens": ("700", 700, 700),
        "llm_daily_tokens": ("7", 7, 7),
        "embedding_background": ("0.25", 0.25, 0.25),
        "embedding_merge_threshold": ("0.25", 0.25, 0.25),
        "max_message_bytes": ("3 MiB", 3 << 20, 3 << 20),
        "max_content_bytes": ("3k", 3 << 10, 3 << 10),
        "index_memory": ("2GiB", "2GiB", 2 << 30),
        "map_size": ("2GiB", "2GiB", 2 << 30),
        "log_level": ("DEBUG", "debug", "debug"),
        "log_format": ("JSON", "json", "json"),
        "metrics_address": ("h:1", "h:1", "h:1"),
        "otlp_endpoint": ("http://h:4318", "http://h:4318", "http://h:4318"),
        "idle_s": ("7", 7, 7.0),
        "max_namespaces": ("7", 7, 7),
        "max_memories": ("7", 7, 7),
        "slow_call_s": ("0.5", 0.5, 0.5),
        "lang": ("zh", "zh", "zh"),
        "secrets": ("Refuse", "refuse", "refuse"),
        "personal_data": ("mask", "mask", "mask"),
        "grace_s": ("7", 7, 7.0),
        "sweep_every_s": ("7", 7, 7.0),
        "expired_grace_days": ("0.5", 0.5, 0.5),
        "erase_compacts": ("Later", "later", "later"),
        "timeout_s": ("7.5", 7.5, 7.5),
        "backup_targets": ("a=/b, c=s3://d", ["a=/b", "c=s3://d"], (("a", "/b"), ("c", "s3://d"))),
        "backup_every": ("24h", "1d", 86_400.0),
        "insecure": ("Yes", "yes", True),
        "max_memories_per_token": ("7", 7, 7),
        "max_namespaces_per_token": ("7", 7, 7),
    }.get(name, ("7", 7 if isinstance(SETTINGS[name].default, int) or "dimension" in name else "7", None))
    if meant is None:
        meant = typed
    assert getattr(load({name: text}, {}, directory=tmp_path), name) == meant
    assert getattr(load({}, {env_name(name): text}, directory=tmp_path), name) == meant
    file = tmp_path / "other.toml"
    file.write_text(f"{name} = {typed!r}\n", encoding="utf-8")
    assert getattr(load({}, {}, file=file), name) == meant


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address", "50051"),
        ("address", ":50051"),
        ("address", "::1:50051"),
        ("address", "h:65536"),
        ("address", "h:²"),
        ("workers", "0"),
        ("workers", "many"),
        ("workers", True),
        ("workers", 1.5),
        ("max_content_bytes", "0"),
        ("max_content_bytes", "1 XiB"),
        ("max_content_bytes", -1),
        ("grace_s", "nan"),
        ("grace_s", "-1"),
        ("rerank_timeout_s", "0"),
        ("llm_max_input_tokens", 0),
        ("llm_base_url", "127.0.0.1:80"),
        ("log_level", "loud"),
        ("lang", "fr"),
        ("embedding_base_url", "127.0.0.1:80"),
        ("embedding_background", "1.5"),
        ("allowed_hosts", [1]),
        ("namespace", 7),
        ("backup_every", "3x"),
        ("backup_every", "59s"),
    ],
)
def test_a_bad_value_names_setting_source_value_and_remedy(name: str, value: Any) -> None:
    with pytest.raises(SettingError) as caught:
        load({name: value}, {})
    error = caught.value
    assert error.field == name
    assert name in error.message
    assert flag_name(name) in error.message
    assert repr(value) in error.message
    assert "expected" in error.message or "write" in error.message


def test_the_source_of_a_bad_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="SILTSTONE_WORKERS"):
        load({}, {"SILTSTONE_WORKERS": "0"})
    (tmp_path / "siltstone.toml").write_text("workers = 0", encoding="utf-8")
    with pytest.raises(SettingError, match=r"siltstone\.toml"):
        load({}, {}, directory=tmp_path)


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("token = 123456", encoding="utf-8")
    with pytest.raises(SettingError) as caught:
        load({}, {}, file=file)
    assert "123456" not in caught.value.message
    assert "sesame" not in repr(Settings(token="sesame", embedding_api_key="sesame"))


def test_an_unknown_key_in_the_file_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("max_topk = 3", encoding="utf-8")
    with pytest.raises(SettingError, match="did you mean max_top_k") as caught:
        load({}, {}, file=file)
    assert caught.value.field == "max_topk"


@pytest.mark.parametrize("content", [None, b"a = ", b"\xff"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "s.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingError, match=r"s\.toml"):
        load({}, {}, file=file)


def test_variables_that_are_no_settings_are_found() -> None:
    environ = {"SILTSTONE_MAX_TOPK": "1", "SILTSTONE_CONFIG": "x", "SILTSTONE_WORKERS": "1", "HOME": "/"}
    assert unknown_variables(environ) == ["SILTSTONE_MAX_TOPK"]


def test_serve_help_lists_every_setting_with_variable_and_default(capsys: Any) -> None:
    assert main(["serve", "--help"]) == 0
    help = " ".join(capsys.readouterr().out.split())
    for name in SETTINGS:
        assert flag_name(name) in help
        assert env_name(name) in help
        assert f"default {default_text(name)}" in help
        assert SETTINGS[name].metadata["doc"].split(";")[0] in help


def test_settings_reach_commands_from_the_variable_and_the_working_directory(
    fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "siltstone.toml").write_text('namespace = "团队"', encoding="utf-8")
    assert main(["write", "a"]) == 0
    (tmp_path / "other.toml").write_text('namespace = "别的"', encoding="utf-8")
    monkeypatch.setitem(os.environ, "SILTSTONE_CONFIG", "other.toml")
    assert main(["write", "a"]) == 0
    assert [request.namespace for _, request in fake.requests] == ["团队", "别的"]
