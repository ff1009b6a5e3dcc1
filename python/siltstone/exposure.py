"""Whether an address can be reached from other machines, and what has to be there before it may be: TLS,
and a way to know who calls."""

import ipaddress
import socket
import ssl
from collections.abc import Callable

from siltstone.errors import FailedPreconditionError, InvalidArgumentError


def is_local(address: str) -> bool:
    """Whether only this machine reaches what listens on an address: host:port, or unix:path. A name counts
    by what it stands for; one that stands for nothing is not local."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(_is_loopback(str(entry[4][0])) for entry in found)


def _is_loopback(text: str) -> bool:
    ip = ipaddress.ip_address(text.partition("%")[0])
    mapped = ip.ipv4_mapped if ip.version == 6 else None
    return (mapped or ip).is_loopback


def check_exposure(address: str, *, tls: bool, closed: bool, insecure: bool) -> None:
    """Refuse to listen where other machines reach it without encryption, or without asking who calls.

    Raises:
        FailedPreconditionError: (EXPOSED) naming what is missing.
    """
    if insecure or is_local(address) or (tls and closed):
        return
    missing = []
    if not tls:
        missing.append("TLS (--tls-cert and --tls-key)")
    if not closed:
        missing.append(
            "access tokens (`siltstone token create … --data DIR` makes the first one), --jwt-issuer, or "
            "client certificates (--tls-client-ca)"
        )
    raise FailedPreconditionError(
        f"address: {address} can be reached from other machines, and there is no "
        f"{', and no '.join(missing)}; set that up, listen on "
        "127.0.0.1, or say --insecure where something in front of it keeps others out",
        reason="EXPOSED",
        field="address",
    )


def check_tls(cert: str, key: str, client_ca: str = "") -> bool:
    """Whether these PEM files, as settings name them, ask for TLS.

    Raises:
        InvalidArgumentError: only some of the settings are set.
        FailedPreconditionError: (TLS_UNUSABLE) a file cannot be read, or the key is not the certificate's.
    """
    if bool(cert) != bool(key) or (client_ca and not cert):
        missing = "tls_key" if cert else "tls_cert"
        raise InvalidArgumentError(
            f"{missing}: is missing; tls_cert and tls_key go together, and tls_client_ca needs both",
            field=missing,
        )
    if not cert:
        return False
    # OpenSSL says what is wrong with them; gRPC would only fail to listen.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load("tls_cert", cert, lambda: context.load_cert_chain(cert, key, _no_password))
    if client_ca:
        _load("tls_client_ca", client_ca, lambda: context.load_verify_locations(client_ca))
    return True


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not, readable for this service only")


def _load(setting: str, path: str, load: Callable[[], None]) -> None:
    try:
        load()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise FailedPreconditionError(
            f"{setting}: {path} cannot be used ({why}); give PEM files that this service may read, and the "
            "key that belongs to the certificate",
            reason="TLS_UNUSABLE",
            field=setting,
        ) from None
