# syntax=docker/dockerfile:1
# docker build -t sluice .                 a small image that runs as an unprivileged user
# docker build -t sluice --target fly .    with Litestream, for Fly's volumes: see docs/deploy.md
#
# "make image" fills in VERSION, REVISION, CREATED and SOURCE. Base images are pinned by
# the digest of their multi-platform index; "make digests" shows newer ones.

ARG VERSION=""
ARG REVISION=""
ARG CREATED=""
ARG SOURCE=""

FROM golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d AS go

FROM go AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION REVISION
# Static, so that it runs in an image without libraries. Host names are then resolved
# by Go, because the C library needs its own files for that.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 go build -tags netgo,osusergo -trimpath \
      -ldflags "-s -w -linkmode external -extldflags -static -X main.release=${VERSION} -X main.revision=${REVISION}" \
      -o /out/sluice ./cmd/sluice \
 && install -d -m 0700 /out/data

# Built from source, which Go verifies against its checksum database.
FROM go AS litestream
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOBIN=/out go install -tags netgo,osusergo -trimpath -ldflags "-s -w -X main.Version=v0.5.18" github.com/benbjohnson/litestream/cmd/litestream@v0.5.18

FROM debian:bookworm-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251 AS fly
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=litestream /out/litestream /usr/local/bin/litestream
COPY --from=build /out/sluice /usr/local/bin/sluice
COPY deploy/litestream.yml /etc/litestream.yml
COPY --chmod=0755 deploy/fly-start /usr/local/bin/fly-start
ENV SLUICE_ADDR=0.0.0.0:8080 SLUICE_DATA_DIR=/data
EXPOSE 8080
ARG VERSION REVISION CREATED SOURCE
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Draw a flow of AI models. Call it as an API." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
ENTRYPOINT ["fly-start"]

FROM gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab AS sluice
COPY --from=build /out/sluice /usr/local/bin/sluice
COPY --from=build --chown=65532:65532 /out/data /data
ENV SLUICE_ADDR=0.0.0.0:8080 SLUICE_DATA_DIR=/data
VOLUME /data
EXPOSE 8080
USER 65532:65532
ARG VERSION REVISION CREATED SOURCE
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Draw a flow of AI models. Call it as an API." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/usr/local/bin/sluice", "ready"]
ENTRYPOINT ["/usr/local/bin/sluice"]
