# syntax=docker/dockerfile:1
# docker build -t sluice .                 a small image that runs as nobody in particular
# docker build -t sluice --target fly .    with Litestream, for Fly's volumes: see docs/deploy.md

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG RELEASE=""
# Static, so that it runs where there is nothing else. Names are then resolved
# by Go, since the C library cannot do that without its own files.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 go build -tags netgo,osusergo -trimpath \
      -ldflags "-s -w -linkmode external -extldflags -static -X main.release=${RELEASE}" \
      -o /out/sluice ./cmd/sluice \
 && install -d -m 0700 /out/data

FROM litestream/litestream:0.5.18 AS litestream

FROM debian:bookworm-slim AS fly
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=litestream /usr/local/bin/litestream /usr/local/bin/litestream
COPY --from=build /out/sluice /usr/local/bin/sluice
COPY deploy/litestream.yml /etc/litestream.yml
COPY --chmod=0755 deploy/fly-start /usr/local/bin/fly-start
ENV SLUICE_ADDR=0.0.0.0:8080 SLUICE_DATA_DIR=/data
EXPOSE 8080
ENTRYPOINT ["fly-start"]

FROM gcr.io/distroless/static-debian12:nonroot AS sluice
COPY --from=build /out/sluice /usr/local/bin/sluice
COPY --from=build --chown=65532:65532 /out/data /data
ENV SLUICE_ADDR=0.0.0.0:8080 SLUICE_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/usr/local/bin/sluice", "ready"]
ENTRYPOINT ["/usr/local/bin/sluice"]
