# One image for manager and relay: `relayfleet manager`, `relayfleet relay`.
#
#   docker build .                        builds the binary, then the image
#   hack/image/build --archive FILE       the same image where no registry is reached
#
# BASE is what the image stands on. The binary is static and needs nothing.
ARG BASE=scratch

FROM ${BASE} AS base
LABEL org.opencontainers.image.title="relayfleet" \
      org.opencontainers.image.description="Kubernetes operator for fleets of outbox relays" \
      org.opencontainers.image.licenses="Apache-2.0"
# A number, so that runAsNonRoot can be checked.
USER 65532:65532
ENTRYPOINT ["/relayfleet"]

# The image around a binary that was built outside; the build's context is a
# folder that holds it. It stands before the stage that needs a registry,
# because some builders work through every stage up to the wanted one.
FROM base AS local
COPY relayfleet /relayfleet

FROM golang:1.26 AS build
ARG VERSION=v0.0.0-dev
ARG TARGETOS=linux
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/relayfleet/relayfleet/cmd.version=${VERSION}" -o /out/relayfleet .

FROM base AS image
COPY --from=build /out/relayfleet /relayfleet
