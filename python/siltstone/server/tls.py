"""TLS of the gRPC server: certificate, key, and the authority whose certificates clients must hold."""

import logging
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from siltstone.errors import SiltstoneError
from siltstone.exposure import check_tls

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. With `client_ca` only clients with a certificate of that authority are let in (mTLS)."""

    cert: str
    key: str
    client_ca: str = ""


class ServerTls:
    """Credentials that follow their files: a certificate that was renewed is taken at the next connection,
    without a restart; while the new files cannot be used, the old ones stay.

    Raises:
        FailedPreconditionError, InvalidArgumentError: see `check_tls`.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._stamp = _stamp(files)
        first = _configuration(files)
        self.credentials = grpc.dynamic_ssl_server_credentials(
            first, self._renewed, require_client_authentication=bool(files.client_ca)
        )

    def _renewed(self) -> Any:
        """The configuration for the next connection, None for the one there is. Must not raise."""
        with self._lock:
            try:
                stamp = _stamp(self._files)
                if stamp == self._stamp:
                    return None
                self._stamp = stamp
                return _configuration(self._files)
            except (SiltstoneError, OSError) as error:
                log.error("%s; the former certificate stays in use", error)
                return None


def _stamp(files: TlsFiles) -> tuple[object, ...]:
    return tuple(_state(path) for path in (files.cert, files.key, files.client_ca) if path)


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _configuration(files: TlsFiles) -> Any:
    check_tls(files.cert, files.key, files.client_ca)
    return grpc.ssl_server_certificate_configuration(
        [(Path(files.key).read_bytes(), Path(files.cert).read_bytes())],
        root_certificates=Path(files.client_ca).read_bytes() if files.client_ca else None,
    )
