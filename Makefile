# `make` alone lists the targets.
.DEFAULT_GOAL := help
.PHONY: help run dev test check check-slow format vet drift vuln bench bench-compare bench-peers generate assets types preview screenshots crash faults soak live fmt dist outdated image digests

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
SQLC        := github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# VERSION is the tag of HEAD without "v"; empty between releases.
VERSION  ?= $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null))
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
# PLATFORMS are those of a release, as linux/amd64; all when empty.
PLATFORMS ?=
# SOURCE is the URL of the repository, for the image's labels.
SOURCE   ?=
# GOVULNDB is the database of known vulnerabilities; a file:// URL works offline.
GOVULNDB ?= https://vuln.go.dev

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: ## start Sluice on ./data
	go run ./cmd/sluice

dev: static/node_modules ## start Sluice and restart it after each change of code, views or assets
	go -C static/build run . -watch

test: ## run the tests; needs only Go; lists the skipped tests at the end
	go run ./e2e/all

# SLOW matches the tests that call need.Slow.
SLOW = ^($(shell grep -hoE '^func Test\w+|need\.Slow' e2e/*_test.go | awk '/^func/ { test = $$2 } /Slow/ { print test }' | paste -sd'|'))$$
# CONCURRENT are the packages that start goroutines or use locks. -short leaves out what does one
# thing after another for long; see need.Time. The whole server has its tests in WIRED.
CONCURRENT := ./cmd/sluice/upstream ./db/... ./documents ./flow/busy ./flow/engine ./flow/fairness ./flow/library ./handlers ./handlers/api/... \
  ./handlers/editor ./handlers/forms ./handlers/mcp ./handlers/passwords ./handlers/web/... ./javascript ./jobs/... ./nodes ./outbound/... \
  ./providers ./providers/builtin ./providers/hosted ./sandbox
# WIRED are tests of the whole server with many concurrent requests.
WIRED := ^(TestCancel|TestCrash|TestEvents|TestFormStreams|TestShutdown|TestTextAcrossServers|TestTwoServers|TestWebhooks)$$

# check tests with the race detector first. What passed with it does not run again: the second
# run has the other packages, and the tests that -short skipped, such as those with browsers.
# The target vet has vetted the tests already.
check: format vet vuln drift types ## check a change: format, vet, staticcheck, known vulnerabilities, generated files, tests, race detector
	@done=$$(mktemp) && \
	go run ./e2e/all -passed $$done -race -short -shuffle=on -vet=off $(CONCURRENT) && \
	go run ./e2e/all -except $$done -shuffle=on -vet=off; \
	code=$$?; rm -f $$done; exit $$code

check-slow: ## run the slow tests: crashes, faults in fleets, upgrades, snippets in every language, validators of pages, races in the whole server, releases, and the files in deploy with the real programs
	SLUICE_TEST_SLOW=1 go run ./e2e/all -run '$(SLOW)' ./e2e
	go run ./e2e/all -run '^TestCrash$$' ./e2e -rounds=20
	go run ./e2e/all -race -run '$(WIRED)' ./e2e
	SLUICE_TEST_SLOW=1 go run ./e2e/all ./deploy
	go -C deploy/testdata/check test .

format:
	@files=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$files" || { echo "not formatted: $$files"; exit 1; }

vet:
	go vet ./...
	go run $(STATICCHECK) ./...
	go -C static/build vet . && go -C static/build test .
	go -C deploy/testdata/collector vet . && go -C deploy/testdata/check vet .

# drift fails if generated files differ from what their sources generate.
drift: generate
	git diff --exit-code -- db/gen docs/nodes.md docs/packed documents/pdfium views static/dist
	test -z "$$(git ls-files --others --exclude-standard -- views static/dist)"

# If the vulnerability database cannot be reached, the check is skipped with a
# message. Any other failure fails the target.
vuln: ## look for known vulnerabilities in code that the program calls
	@found=$$(mktemp) && code=0 && go run $(GOVULNCHECK) -db "$(GOVULNDB)" ./... >$$found 2>&1 || code=$$?; \
	if grep -q '^govulncheck: fetching vulnerabilities' $$found; then \
	  echo "SKIPPED: known vulnerabilities, because the database cannot be reached: $$(sed -n 's/^govulncheck: fetching vulnerabilities: //p' $$found)"; code=0; \
	else cat $$found; fi; rm -f $$found; exit $$code

generate: assets ## regenerate queries, the node reference, views and assets
	cd db && CGO_ENABLED=0 go run $(SQLC) generate && CGO_ENABLED=0 go run $(SQLC) compile -f sqlc.sqlite.yaml
	go generate ./nodes
	go generate ./docs
	go generate ./views
	go generate ./documents/pdfium

assets: static/node_modules ## bundle scripts and styles into static/dist
	go generate ./static

types: static/node_modules ## type-check the TypeScript
	cd static && npx --no-install tsc --noEmit

preview: VIEWS ?= console
preview: ## serve the pages of the package VIEWS (console, editor, account ...) with sample data on http://127.0.0.1:8099
	go test ./views/$(VIEWS) -timeout 0 -preview 127.0.0.1:8099

screenshots: ## retake the screenshots of README and docs, from a seeded instance
	go test ./e2e -count=1 -run '^(TestScreenshots|TestFirstFlow|TestTutorialForm|TestTutorialPicturesOfFlows)$$' -screenshots "$(CURDIR)/docs/images"

static/node_modules: static/package-lock.json
	cd static && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules

bench: ## measure speed and size; prints a table (docs/benchmarks.md keeps one)
	go run ./bench

bench-compare: ## compare the speed with another commit by alternating both builds: make bench-compare AGAINST=HEAD~1
	go run ./bench -rows wait,http -against $(or $(AGAINST),HEAD~1)

bench-peers: ## measure Node-RED, DBOS and Restate beside Sluice; needs npm and the network once
	go run ./bench -rows wait,http -on sqlite,postgres -callers 1,8,64,512 -time 15s -peers
	go run ./bench -rows turns -on sqlite,postgres -time 30s -peers

crash: ## the long crash tests: 200 rounds of kill -9 under load, and while maps and agents work
	SLUICE_TEST_SLOW=1 go test ./e2e -run TestCrash -skip TestCrashSchedules -rounds 200 -timeout 60m -v

faults: ## the long fault tests of three instances on PostgreSQL: 20 rounds of each
	SLUICE_TEST_SLOW=1 go test ./e2e -run TestFleet -skip TestFleetSchedules -rounds 20 -timeout 180m -v

soak: ## the fault tests at the sizes of the specifications: 300 kills under each load and 20 rounds of each fault in fleets, 1,000 schedules for 30 minutes, a batch of 100,000 rows, 10,000 files, an upgrade with 2,000,000 runs, an hour of agents, maps and approvals, and crashes of the program without C. KILLS, FAULTS, MINUTES and HOUR change that
	SLUICE_TEST_SLOW=1 go test ./e2e -run TestCrash -skip TestCrashSchedules -rounds $(or $(KILLS),300) -timeout 180m -v
	SLUICE_TEST_SLOW=1 go test ./e2e -run 'TestCrashSchedules|TestFleetSchedules' -rounds $(or $(MINUTES),30) -timeout 180m -v
	SLUICE_TEST_SLOW=1 go test ./e2e -run 'TestFleet|TestRollingUpgrade_of_many_runs' -skip TestFleetSchedules -rounds $(or $(FAULTS),20) -timeout 180m -v
	SLUICE_TEST_SLOW=1 go test ./e2e -run TestSoak -rounds $(or $(HOUR),60) -timeout 180m -v
	CGO_ENABLED=0 go test ./db ./jobs -timeout 60m
	go test ./e2e -run '^TestCrash$$' -no-c -rounds $(or $(FAULTS),20) -timeout 60m -v

live: ## run the table of conversations with tools against real models, and list the rows that never ran: make live MODELS="openai/gpt-5-mini"
	SLUICE_LIVE_MODELS="$(MODELS)" go test ./providers -count=1 -v -run '^(TestTurn_conforms_live|TestLiveRecord_has_only_rows_of_the_table)$$' $(if $(MODELS),-update)

fmt: ## format
	gofmt -w $$(git ls-files '*.go')

dist: ## build a release of all platforms into dist/, with lists of components and checksums, from a clean checkout of its tag
	@deploy/dist "$(VERSION)" $(PLATFORMS)

outdated: ## list newer versions of Go modules that Sluice uses
	@go list -m -u -f '{{if and .Update (not .Indirect)}}{{.Path}} {{.Version}} -> {{.Update.Version}}{{end}}' all

image: ## build the container image, labeled with version and commit
	docker build -t sluice:$(or $(VERSION),dev) -t sluice:latest --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	  --build-arg CREATED=$$(date -u +%Y-%m-%dT%H:%M:%SZ) --build-arg SOURCE=$(SOURCE) .

digests: ## compare the pinned digests of the base images with their tags
	@sed -n 's/^FROM \(.*\)@\(sha256:[0-9a-f]*\).*/\1 \2/p' Dockerfile | while read -r image pinned; do \
	  now=$$(docker buildx imagetools inspect "$$image" --format '{{json .Manifest.Digest}}' | tr -d '"') || exit 1; \
	  test "$$now" = "$$pinned" && echo "$$image is current" || echo "$$image: pinned $$pinned, now $$now"; done
