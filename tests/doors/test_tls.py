"""TLS and client certificates, with real servers and certificates made here; and what refuses to start."""

import datetime
import ipaddress
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import siltstone
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from siltstone.cli import main
from siltstone.config import Settings
from siltstone.exposure import is_local
from siltstone.gateway import Gateway
from siltstone.local import Local
from siltstone.server import TlsFiles, serve

DAY = datetime.timedelta(days=1)


class Authority:
    """Makes certificates, and writes them as PEM files below a directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = directory / f"{name}.pem"
        certificate = self._certificate(self.name, self.key.public_key(), x509.BasicConstraints(True, None))
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> tuple[str, str]:
        """Paths of a certificate for 127.0.0.1 and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        certificate = self._certificate(subject, key.public_key(), names)
        paths = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return str(paths[0]), str(paths[1])

    def _certificate(self, subject: x509.Name, key: Any, extension: Any) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(extension, critical=False)
            .sign(self.key, hashes.SHA256())
        )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "ca")


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(tmp_path_factory.mktemp("tls"), settings=settings) as opened:
        yield opened


def test_a_client_with_the_authority_gets_through_and_one_without_it_does_not(
    mem: Local, authority: Authority
) -> None:
    server = serve(mem.engine, address="127.0.0.1:0", tls=TlsFiles(*authority.issue("server")))
    try:
        with siltstone.Client(server.address, tls_ca=str(authority.ca)) as client:
            assert client.write("加密的 text").memory.content == "加密的 text"
        with (
            siltstone.Client(server.address, timeout=5) as plain,
            pytest.raises(siltstone.SiltstoneError) as caught,
        ):
            plain.stats()
        assert caught.value.reason == "CONNECTION_FAILED"
        stranger = Authority(authority.directory, "stranger")
        with (
            siltstone.Client(server.address, tls_ca=str(stranger.ca), timeout=5) as other,
            pytest.raises(siltstone.UnavailableError),
        ):
            other.stats()
    finally:
        server.stop(0)


def test_with_a_client_authority_only_clients_with_its_certificate_get_through(
    mem: Local, authority: Authority
) -> None:
    files = TlsFiles(*authority.issue("server2"), client_ca=str(authority.ca))
    server = serve(mem.engine, address="127.0.0.1:0", tls=files)
    try:
        cert, key = authority.issue("client")
        options = {"tls_ca": str(authority.ca), "timeout": 5}
        with siltstone.Client(server.address, tls_client_cert=cert, tls_client_key=key, **options) as client:
            assert client.stats().version
        stranger = Authority(authority.directory, "stranger2")
        wrong_cert, wrong_key = stranger.issue("intruder")
        for shown in ({}, {"tls_client_cert": wrong_cert, "tls_client_key": wrong_key}):
            with (
                siltstone.Client(server.address, **shown, **options) as other,
                pytest.raises(siltstone.UnavailableError),
            ):
                other.stats()
    finally:
        server.stop(0)


def test_a_renewed_certificate_is_taken_at_the_next_connection_and_a_broken_one_is_not(
    mem: Local, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    cert, key = old.issue("renewed")
    server = serve(mem.engine, address="127.0.0.1:0", tls=TlsFiles(cert, key))

    def reached(ca: Path) -> bool:
        with siltstone.Client(server.address, tls_ca=str(ca), timeout=5) as client:
            try:
                return bool(client.stats().version)
            except siltstone.UnavailableError:
                return False

    try:
        assert reached(old.ca)
        Path(cert).write_text("broken")
        assert reached(old.ca)
        assert "the former certificate stays in use" in caplog.text
        new_cert, new_key = new.issue("renewal")
        os.replace(new_key, key)
        os.replace(new_cert, cert)
        assert reached(new.ca)
        assert not reached(old.ca)
    finally:
        server.stop(0)


@pytest.mark.parametrize(
    ("files", "field"),
    [
        (("{tmp}/none.crt", "{tmp}/none.key", ""), "tls_cert"),
        (("{cert}", "{other}", ""), "tls_cert"),
        (("{cert}", "", ""), "tls_key"),
        (("{cert}", "{key}", "{tmp}/none.pem"), "tls_client_ca"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    mem: Local, authority: Authority, tmp_path: Path, files: tuple[str, ...], field: str
) -> None:
    cert, key = authority.issue("a")
    _, other = authority.issue("b")
    paths = [text.format(tmp=tmp_path, cert=cert, key=key, other=other) for text in files]
    with pytest.raises(siltstone.SiltstoneError) as caught:
        serve(mem.engine, address="127.0.0.1:0", tls=TlsFiles(*paths))
    assert caught.value.field == field
    assert "BEGIN" not in str(caught.value)


@pytest.mark.parametrize("field", ["tls_ca", "tls_client_cert"])
def test_a_client_names_the_file_that_it_cannot_use(tmp_path: Path, field: str) -> None:
    (tmp_path / "empty").write_text("")
    for path in ("none.pem", "empty"):
        given = {field: str(tmp_path / path)}
        if field == "tls_client_cert":
            given["tls_client_key"] = str(tmp_path / path)
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            siltstone.Client("127.0.0.1:1", **given)
        assert caught.value.field in (field, "tls_client_key")


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "nobody.invalid:0"])
def test_an_address_that_others_reach_takes_tls_and_known_callers(
    tmp_path: Path, authority: Authority, address: str
) -> None:
    tls = TlsFiles(*authority.issue("exposed"))
    with siltstone.open(tmp_path / "d", settings=Settings(embedding_model="hashing")) as mem:
        for given in (None, tls):
            with pytest.raises(siltstone.FailedPreconditionError) as caught:
                serve(mem.engine, address=address, tls=given)
            assert caught.value.reason == "EXPOSED"
            assert "--insecure" in str(caught.value)
        mem.create_token("t", namespaces=["**"], roles=["reader"])
        with pytest.raises(siltstone.FailedPreconditionError, match="no TLS"):
            serve(mem.engine, address=address)
        if address == "0.0.0.0:0":
            serve(mem.engine, address=address, tls=tls).stop(0)
            serve(mem.engine, address=address, insecure=True).stop(0)


def test_client_certificates_are_enough_to_know_callers(mem: Local, authority: Authority) -> None:
    files = TlsFiles(*authority.issue("mutual"), client_ca=str(authority.ca))
    serve(mem.engine, address="0.0.0.0:0", tls=files).stop(0)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("unix:/tmp/s", True),
        ("[::ffff:127.0.0.1]:1", True),
        ("0.0.0.0:1", False),
        ("0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(address: str, local: bool) -> None:
    assert is_local(address) is local


def test_a_gateway_that_others_reach_takes_tls_and_asks_each_caller_for_a_token(
    mem: Local, authority: Authority
) -> None:
    server = serve(mem.engine, address="127.0.0.1:0")
    try:
        with pytest.raises(siltstone.FailedPreconditionError) as caught:
            Gateway(server.address, address="0.0.0.0:0")
        assert caught.value.reason == "EXPOSED"
        cert, key = authority.issue("gateway")
        gateway = Gateway(server.address, address="0.0.0.0:0", tls_cert=cert, tls_key=key)
        with gateway, httpx2.Client(verify=_trust(authority.ca), timeout=20) as http:
            base = f"https://127.0.0.1:{gateway.address.rpartition(':')[2]}"
            assert http.get(f"{base}/healthz").status_code == 200
            answer = http.post(f"{base}/v1/GetStats", json={})
            assert (answer.status_code, answer.json()["error"]["reason"]) == (401, "TOKEN_REQUIRED")
            # A server without tokens knows none, so a made-up one is no way in.
            answer = http.post(f"{base}/v1/GetStats", json={}, headers={"Authorization": "Bearer x"})
            assert (answer.status_code, answer.json()["error"]["reason"]) == (401, "UNKNOWN_TOKEN")
    finally:
        server.stop(0)


def test_doctor_knows_a_gateway_with_tls_by_its_own_certificate(
    authority: Authority, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cert, key = authority.issue("examined")
    other, _ = authority.issue("other")
    with Gateway("127.0.0.1:1", address="127.0.0.1:0", tls_cert=cert, tls_key=key) as gateway:
        for file, state in ((cert, "ok"), (other, "bad")):
            flags = ("--gateway-address", gateway.address, "--tls-cert", file, "--tls-key", key)
            main(["doctor", "--json", "--address", "127.0.0.1:1", "--embedding-model", "hashing", *flags])
            checks = json.loads(capsys.readouterr().out)["checks"]
            assert [check["state"] for check in checks if check["name"] == "gateway"] == [state]


def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "siltstone.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_the_command_line_makes_the_first_token_and_serves_with_tls(
    authority: Authority, tmp_path: Path
) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SILTSTONE_")}
    environment |= {"SILTSTONE_EMBEDDING_MODEL": "hashing"}
    data = str(tmp_path / "data")
    made = run(
        *("token", "create", "甲", "--for", "团队/*", "--role", "reader", "--role", "writer"),
        *("--data", data, "--json"),
        environment=environment,
    )
    assert made.returncode == 0, made.stderr
    token = json.loads(made.stdout)
    assert token["secret"].startswith("slt_")
    cert, key = authority.issue("up")
    process = subprocess.Popen(
        [
            *(
                sys.executable,
                "-m",
                "siltstone.cli",
                "up",
                "--json",
                "--data",
                data,
                "--address",
                "127.0.0.1:0",
            ),
            *("--gateway-address", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())
        client = ("--address", where["address"], "--tls-ca", str(authority.ca), "--json")
        plain = run("stats", "--address", where["address"], environment=environment)
        assert plain.returncode == 1
        assert "--tls-ca" in plain.stderr
        refused = run("stats", *client, environment=environment)
        assert refused.returncode == 1
        assert json.loads(refused.stderr)["error"]["reason"] == "TOKEN_REQUIRED"
        environment["SILTSTONE_TOKEN"] = token["secret"]
        written = run("write", "部署说明", "--namespace", "团队/甲", *client, environment=environment)
        assert written.returncode == 0, written.stderr
        foreign = run("write", "x", "--namespace", "default", *client, environment=environment)
        assert json.loads(foreign.stderr)["error"]["status"] == "NOT_FOUND"
        with httpx2.Client(verify=_trust(authority.ca), timeout=20) as http:
            base = f"https://{where['gateway_address']}"
            assert http.get(f"{base}/readyz").status_code == 200
            sent = {"Authorization": f"Bearer {token['secret']}"}
            body = {"query": "部署", "namespaces": ["团队/甲"]}
            found = http.post(f"{base}/v1/SearchMemories", json=body, headers=sent).json()
            assert [hit["memory"]["summary"] for hit in found["hits"]] == ["部署说明"]
            assert http.post(f"{base}/v1/SearchMemories", json=body).status_code == 401
    finally:
        process.terminate()
        _, log = process.communicate(timeout=30)
    assert token["secret"] not in log
    assert process.returncode == 0, log


def _trust(ca: Path) -> Any:
    return ssl.create_default_context(cafile=str(ca))


def test_figures_are_not_served_to_other_machines_unasked(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SILTSTONE_")}
    environment |= {"SILTSTONE_EMBEDDING_MODEL": "hashing", "SILTSTONE_DATA": str(tmp_path / "data")}
    given = ("serve", "--address", "127.0.0.1:0", "--metrics-address", "0.0.0.0:0", "--json")
    refused = run(*given, environment=environment)
    assert refused.returncode == 1
    error = json.loads(refused.stderr.splitlines()[-1])["error"]
    assert (error["reason"], error["field"]) == ("EXPOSED", "metrics_address")


def test_the_command_line_refuses_an_exposed_address_and_says_what_is_missing(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SILTSTONE_")}
    environment |= {"SILTSTONE_EMBEDDING_MODEL": "hashing", "SILTSTONE_DATA": str(tmp_path / "data")}
    refused = run("serve", "--address", "0.0.0.0:0", "--json", environment=environment)
    assert refused.returncode == 1
    error = json.loads(refused.stderr.splitlines()[-1])["error"]
    assert (error["reason"], error["field"]) == ("EXPOSED", "address")
    assert "TLS" in error["message"]
    assert "token create" in error["message"]
