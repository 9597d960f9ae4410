# `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help run dev test check bench generate assets types preview screenshots crash fmt

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
SQLC        := github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: ## start Sluice on ./data
	go run ./cmd/sluice

dev: static/node_modules ## start Sluice, and again after each change of code, views or assets
	go -C static/build run . -watch

test: ## run all tests; what this machine cannot run is listed at the end
	go run ./e2e/all

check: ## what CI runs: formatting, vet, staticcheck, drift, all tests with the race detector
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not formatted: $$files"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	$(MAKE) generate
	git diff --exit-code -- db/gen docs/nodes.md views static/dist
	test -z "$$(git ls-files --others --exclude-standard -- views static/dist)"
	$(MAKE) types
	go -C static/build vet . && go -C static/build test .
	go run ./e2e/all -race -shuffle=on

generate: assets ## make generated files anew: queries, the node reference, views, assets
	cd db && CGO_ENABLED=0 go run $(SQLC) generate && CGO_ENABLED=0 go run $(SQLC) compile -f sqlc.sqlite.yaml
	go generate ./nodes
	go generate ./views

assets: static/node_modules ## bundle what browsers fetch into static/dist
	go generate ./static

types: static/node_modules ## check the types of the scripts
	cd static && npx --no-install tsc --noEmit

preview: ## serve all views with sample data on http://127.0.0.1:8099
	go test ./views -timeout 0 -preview 127.0.0.1:8099

screenshots: ## make the pictures of README and docs anew, from a seeded instance
	go test ./e2e -count=1 -run TestScreenshots -screenshots "$(CURDIR)/docs/images"

static/node_modules: static/package-lock.json
	cd static && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules

bench: ## measure speed and size; prints a table (docs/benchmarks.md keeps one)
	go run ./bench

crash: ## the long crash test: 200 rounds of kill -9 under load
	go test ./e2e -run TestCrash -rounds 200 -timeout 60m -v

fmt: ## format
	gofmt -w $$(git ls-files '*.go')
