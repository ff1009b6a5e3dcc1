# Server and gateway in one container.
#
#   docker build -t siltstone .
#   docker run --rm -v siltstone:/data \
#     -e SILTSTONE_ADDRESS=0.0.0.0:50051 -e SILTSTONE_GATEWAY_ADDRESS=0.0.0.0:8765 -e SILTSTONE_INSECURE=true \
#     -p 127.0.0.1:50051:50051 -p 127.0.0.1:8765:8765 siltstone
#
# By default both listen on the container's own loopback address, which nothing outside can reach. 0.0.0.0 has
# to be asked for, and needs TLS and access tokens (docs/access.md), or the word that whoever reaches the ports
# may read and write: SILTSTONE_INSECURE, as here, where only this machine does.

FROM rust:1-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --no-install-recommends --yes g++ python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python3 -m venv /tools && /tools/bin/pip install --no-cache-dir 'maturin>=1.16,<2'
COPY Cargo.toml Cargo.lock pyproject.toml README.md LICENSE ./
COPY proto proto
COPY rust_core rust_core
COPY python python
RUN /tools/bin/maturin build --release --locked --strip --out /wheels

FROM python:3.11-slim-bookworm
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl \
    && rm -rf /wheels \
    && useradd --system --uid 10001 --no-create-home siltstone \
    && install --directory --owner siltstone --mode 0700 /data
ENV SILTSTONE_DATA=/data
USER siltstone
WORKDIR /data
VOLUME /data
EXPOSE 50051 8765
STOPSIGNAL SIGTERM
# Where tokens are needed the check needs one too: SILTSTONE_TOKEN, of any reader.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["siltstone", "stats", "--json"]
CMD ["siltstone", "up"]
