"""Addresses to listen on or to reach: host:port, and unix:path where gRPC is spoken."""

EXPECTED = "expected host:port such as 127.0.0.1:50051, or [::1]:50051 for IPv6"


def split(address: str) -> tuple[str, int]:
    """Host, without the brackets of IPv6, and port (0..65535); ValueError saying what is expected."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(EXPECTED)
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError("write an IPv6 address in brackets: [::1]:50051")
    return host.removeprefix("[").removesuffix("]"), int(port)


def join(host: str, port: int) -> str:
    """What `split` takes apart."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_unix(address: str) -> bool:
    return address.startswith("unix:") and len(address) > len("unix:")
