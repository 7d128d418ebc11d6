# A bare `make` lists the targets. What a target needs and this machine lacks, it
# installs where it may (root on a Debian-like system), and names first.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CACHE ?= $(or $(RELAYFLEET_CACHE),$(if $(filter 0,$(shell id -u)),/var/cache/relayfleet,$(HOME)/.cache/relayfleet))
export RELAYFLEET_CACHE := $(CACHE)
# The image is static; compiling everything alike compiles it once.
export CGO_ENABLED := 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
GOLANGCI_VERSION := $(shell sed -n 's|.*golangci/golangci-lint/v2 \(v[0-9.]*\).*|\1|p' hack/tools/go.mod)
GOLANGCI := $(CACHE)/bin/golangci-lint-$(GOLANGCI_VERSION)
CLUSTER := go -C hack/cluster run .
MODULES := . hack/cluster

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'

##@ Try it

.PHONY: demo
demo: ## Show it all on a real Kubernetes, PostgreSQL and Kafka, from nothing; `make cluster-down` ends it
	@go run ./hack/demo

.PHONY: cluster
cluster: ## Start a real single-node Kubernetes (or use CLUSTER=existing, or kind)
	@$(CLUSTER) up

.PHONY: cluster-down
cluster-down: ## Stop the cluster, the demo's database and its broker; nothing stays
	@go run ./hack/demo down

##@ Build

.PHONY: build
build: ## Build bin/relayfleet
	go build -ldflags "-s -w -X github.com/relayfleet/relayfleet/cmd.version=$(VERSION)" -o bin/relayfleet .

.PHONY: image
image: ## Build the image into dist/relayfleet.tar, without a registry
	@mkdir -p dist
	hack/image/build --archive dist/relayfleet.tar

.PHONY: generated
generated: ## Generate deep copies, apply configurations, CRDs and roles again
	hack/generate.sh

##@ Check

.PHONY: test
test: ## Test everything on real parts, from nothing; without root E2E=0 leaves the cluster out
	@hack/test

.PHONY: test-unit
test-unit: ## Test what needs no service
	go test $$(go list ./... | grep -v -E '/test/(integration|e2e)|/hack/|/controllers$$|/relay/outbox|/relay/publish')

.PHONY: lint
lint: $(GOLANGCI) ## Vet, lint, and look whether what is generated is up to date
	@for module in $(MODULES); do (cd $$module && go vet ./... && $(GOLANGCI) run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...); done
	@hack/generate.sh
	@git diff --exit-code --stat -- api config || { echo "error: run 'make generated' and commit what it changes" >&2; exit 1; }

.PHONY: format
format: $(GOLANGCI) ## Format the Go files
	@for module in $(MODULES); do (cd $$module && $(GOLANGCI) fmt --config $(CURDIR)/.golangci.yml ./...); done

$(GOLANGCI):
	@echo "==> Build golangci-lint $(GOLANGCI_VERSION) (3 minutes on two cores, once)" >&2
	@mkdir -p $(@D)
	@cd hack/tools && go build -o $@.part github.com/golangci/golangci-lint/v2/cmd/golangci-lint && mv $@.part $@

.PHONY: verify
verify: ## What takes longer, by hand; results go to docs/verification.md
	@hack/verify

.PHONY: bench
bench: ## Measure one relay beside its bounds; BENCH_PEERS=1: its peers too; BENCH=history, xmin, retention or order: see test/bench/doc.go
	@go run ./test/bench
