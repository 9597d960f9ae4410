# `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help run dev test check vuln bench bench-compare bench-peers generate assets types preview screenshots crash faults fmt dist image digests

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
SQLC        := github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# VERSION is the release that HEAD is tagged as, without "v"; empty between releases.
VERSION  ?= $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null))
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
# SOURCE is the address of the repository, for the image's labels.
SOURCE   ?=
# GOVULNDB is the database of known vulnerabilities; a file:// URL works offline.
GOVULNDB ?= https://vuln.go.dev

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: ## start Sluice on ./data
	go run ./cmd/sluice

dev: static/node_modules ## start Sluice, and again after each change of code, views or assets
	go -C static/build run . -watch

test: ## run all tests; what this machine cannot run is listed at the end
	go run ./e2e/all

check: ## what CI runs: formatting, vet, staticcheck, known vulnerabilities, drift, all tests with the race detector
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not formatted: $$files"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	$(MAKE) --no-print-directory vuln
	$(MAKE) generate
	git diff --exit-code -- db/gen docs/nodes.md views static/dist
	test -z "$$(git ls-files --others --exclude-standard -- views static/dist)"
	$(MAKE) types
	go -C static/build vet . && go -C static/build test .
	go run ./e2e/all -race -shuffle=on

# Without the database the check is left out, and says so; every other failure
# counts.
vuln: ## look for known vulnerabilities in code that the program calls
	@found=$$(mktemp) && code=0 && go run $(GOVULNCHECK) -db "$(GOVULNDB)" ./... >$$found 2>&1 || code=$$?; \
	if grep -q '^govulncheck: fetching vulnerabilities' $$found; then \
	  echo "LEFT OUT: known vulnerabilities, because the database cannot be reached: $$(sed -n 's/^govulncheck: fetching vulnerabilities: //p' $$found)"; code=0; \
	else cat $$found; fi; rm -f $$found; exit $$code

generate: assets ## make generated files anew: queries, the node reference, views, assets
	cd db && CGO_ENABLED=0 go run $(SQLC) generate && CGO_ENABLED=0 go run $(SQLC) compile -f sqlc.sqlite.yaml
	go generate ./nodes
	go generate ./views

assets: static/node_modules ## bundle what browsers fetch into static/dist
	go generate ./static

types: static/node_modules ## check the types of the scripts
	cd static && npx --no-install tsc --noEmit

preview: ROOM ?= console
preview: ## serve the views of ROOM (console, editor, account ...) with sample data on http://127.0.0.1:8099
	go test ./views/$(ROOM) -timeout 0 -preview 127.0.0.1:8099

screenshots: ## make the pictures of README and docs anew, from a seeded instance
	go test ./e2e -count=1 -run TestScreenshots -screenshots "$(CURDIR)/docs/images"

static/node_modules: static/package-lock.json
	cd static && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules

bench: ## measure speed and size; prints a table (docs/benchmarks.md keeps one)
	go run ./bench

bench-compare: ## compare the speed with another commit by alternating both builds: make bench-compare AGAINST=HEAD~1
	go run ./bench -rows wait,http -against $(or $(AGAINST),HEAD~1)

bench-peers: ## measure Node-RED and DBOS beside Sluice; needs npm and the network once
	go run ./bench -rows wait,http -on sqlite,postgres -callers 1,8,64,512 -time 15s -peers

crash: ## the long crash test: 200 rounds of kill -9 under load
	go test ./e2e -run TestCrash -rounds 200 -timeout 60m -v

faults: ## the long fault tests of three instances on PostgreSQL: 20 rounds of each
	go test ./e2e -run TestFleet -rounds 20 -timeout 180m -v

fmt: ## format
	gofmt -w $$(git ls-files '*.go')

dist: ## build a release for this machine's kind into dist/, with checksums: make dist VERSION=1.2.3
	@test -n "$(VERSION)" || { echo "HEAD is not tagged as a version; tag it, or give one: make dist VERSION=1.2.3"; exit 1; }
	@grep -q "^## \[$(VERSION)\] - " CHANGELOG.md || { echo "CHANGELOG.md has no section for $(VERSION); move what is under [Unreleased] there"; exit 1; }
	@set -eu; name="sluice_$(VERSION)_$$(go env GOOS)_$$(go env GOARCH)"; rm -rf "dist/$$name"; mkdir -p "dist/$$name"; \
	CGO_ENABLED=1 go build -tags netgo,osusergo -trimpath -o "dist/$$name/sluice" \
	  -ldflags "-s -w -linkmode external -extldflags -static -X main.release=$(VERSION) -X main.revision=$(REVISION)" ./cmd/sluice; \
	cp -r LICENSE README.md CHANGELOG.md deploy "dist/$$name/"; \
	tar -C dist --sort=name --owner=0 --group=0 -czf "dist/$$name.tar.gz" "$$name"; rm -rf "dist/$$name"; \
	cd dist && sha256sum sluice_$(VERSION)_*.tar.gz > SHA256SUMS && cat SHA256SUMS

image: ## build the container image, labeled with version and commit
	docker build -t sluice:$(or $(VERSION),dev) -t sluice:latest --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	  --build-arg CREATED=$$(date -u +%Y-%m-%dT%H:%M:%SZ) --build-arg SOURCE=$(SOURCE) .

digests: ## show what the tags of the base images point to now, beside the pinned digests
	@sed -n 's/^FROM \(.*\)@\(sha256:[0-9a-f]*\).*/\1 \2/p' Dockerfile | while read -r image pinned; do \
	  now=$$(docker buildx imagetools inspect "$$image" --format '{{json .Manifest.Digest}}' | tr -d '"') || exit 1; \
	  test "$$now" = "$$pinned" && echo "$$image is current" || echo "$$image: pinned $$pinned, now $$now"; done
