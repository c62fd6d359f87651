# `make` lists what there is. Everything needed beyond Go is fetched by the programs and tests themselves.

SHELL   := /bin/bash
VERSION := $(shell contrib/version.sh 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
STAMP    = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# The product, and the programs that measure and judge it: modules of their own, so that go.mod lists what the product uses.
MODULES := ./... ./bench/... ./judge/...
# The longest come first, so that a short one is the last to end: go test keeps this order.
LONGEST := ./internal/engine/migration ./internal/cli ./internal/lab/cases ./internal/engine/prescan ./internal/engine/tableddl
# Which server a test runs on, and which slow tests run (internal/lab/mysqltest).
TURN = $(or $(MIDSTREAM_TEST_TURN),$(shell git rev-list --count HEAD 2>/dev/null || echo 0))
SERVERS := 9.7,8.0,5.7,mariadb-10.11,mariadb-11.8

.DEFAULT_GOAL := help
.PHONY: help build release release-twice container demo test browser matrix judges check contrib prose race vuln short soak fleet-sim fleet fleet-test fuzz docs bench cases differ nightly

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

build: ## bin/midstream, static
	CGO_ENABLED=0 GOWORK=off go build -trimpath -ldflags "$(STAMP)" -o bin/midstream ./cmd/midstream

release: ## dist/: programs, packages, container images, checksums and SBOMs of this commit, the same bytes each time
	contrib/release.sh dist

release-twice: ## build a release in two folders, and compare every byte
	contrib/release-twice.sh

container: build ## dist/container: what contrib/container/Containerfile, and Containerfile.shell with sh, curl and jq, are built of
	rm -rf dist/container && mkdir -p dist/container/state
	cp bin/midstream /etc/ssl/certs/ca-certificates.crt dist/container/
	cp -r contrib/hooks dist/container/hooks
	@echo 'docker build -f contrib/container/Containerfile -t midstream dist/container'
	@echo 'docker build -f contrib/container/Containerfile.shell -t midstream:shell dist/container'

demo: build ## a schema change under traffic, on a throwaway server (DEMO="--rows 100000" for other flags)
	bin/midstream demo $(DEMO)

check: prose contrib bin/golangci-lint ## the linters of .golangci.yml, which are fetched and built once, prose, and contrib
	bin/golangci-lint run --allow-parallel-runners $(MODULES)
	bin/golangci-lint run --allow-parallel-runners --build-tags browser ./internal/cli

contrib: ## contrib/kubernetes and contrib/github by the published types and schemas, and the container image of a release
	cd tools/contrib && GOWORK=off go test -count=1 ./... # its cache does not see files outside of the module
	cd tools/image && GOWORK=off go test ./...

bin/golangci-lint: tools/go.mod
	cd tools && GOWORK=off go build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

prose: ## the English rule in README, docs/ and what they are made of: words, long sentences, one sentence a line (.vale/; needs a C compiler)
	@if command -v $$(go env CC) >/dev/null; then \
		$(MAKE) --no-print-directory bin/vale && bin/vale *.md docs bench/README.md contrib && bin/vale --config=.vale/blocks.ini docs/cli.md docs/errors.md; \
	else echo "prose: NOT CHECKED, because Vale is built with a C compiler and $$(go env CC) is not installed"; fi

bin/vale: tools/vale/go.mod # its parsers are in C
	cd tools/vale && GOWORK=off CGO_ENABLED=1 go build -o ../../bin/vale github.com/vale-cli/vale/v3/cmd/vale

race: ## the tests that need no server, and the simulation, with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -vet=off -race -short $(MODULES)

vuln: ## look for known vulnerabilities in what the program calls (VULN="-db URL" for another database)
	cd tools && GOWORK=off go build -o ../bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	GOWORK=off bin/govulncheck $(VULN) ./...

short: check ## the tests that need no server
	go test -short ./...

# make check runs the linters, and vet with them.
# The names of the tests that failed come last, behind the output of all packages: a log of CI may show its end only.
test: ## the tests, on real servers: each on one of its servers, and about a twelfth of the slow ones, as the number of commits chooses
	@mkdir -p bin; export MIDSTREAM_TEST_STRICT=1 MIDSTREAM_TEST_TURN=$(TURN); \
	{ go test -vet=off -p 3 -parallel 4 -timeout 70m $(LONGEST) $$(go list $(MODULES) | grep -v /internal/lab/soak) 2>&1; echo $$? >bin/test.code; } | tee bin/test.log; \
	code=$$(cat bin/test.code); test "$$code" = 0 || { echo; echo "These tests failed; bin/test.log has the output of all:"; \
		grep -E '^ *--- FAIL|^FAIL|^panic: ' bin/test.log; exit $$code; }

browser: check ## the pages in headless Chromium, against a real server (BROWSER="-images $$PWD/docs/images" for the pictures of docs/web.md)
	go test -tags browser -count=1 -timeout 60m -run 'TestBrowser' ./internal/cli -args $(BROWSER)

matrix: check ## every test on every server, two hours or more (SERVERS=5.7,mariadb-10.11 for the engine on some)
	MIDSTREAM_TEST_STRICT=1 MIDSTREAM_TEST_TURN=all go test -count=1 -p 1 -parallel 4 -timeout 150m \
		$$(go list ./... | grep -v -e /engine/migration -e /lab/cases -e /lab/differ -e /lab/soak)
	MIDSTREAM_TEST_STRICT=1 MIDSTREAM_TEST_TURN=all go test -count=1 -p 1 -parallel 4 -timeout 150m ./internal/engine/migration -servers $(SERVERS)

differ: check ## random cases compared with the server's own ALTER (DIFFER="-versions 9.7 -seed 7 -cases 2000 -reduce" for other flags)
	MIDSTREAM_TEST_STRICT=1 go test -count=1 -timeout 0 -run TestL11_Differ -v ./internal/lab/differ -args -versions $(SERVERS) -cases 1000 $(DIFFER)

cases: check ## every case of internal/lab/cases on every server that it names, about ten minutes
	MIDSTREAM_TEST_STRICT=1 go test -count=1 -timeout 60m ./internal/lab/cases -args -every

nightly: matrix cases differ race fuzz judges soak fleet-sim fleet-test ## the tests that take hours: every server, every case, random cases, the race detector, fuzzing, judges, soak

judges: build ## gh-ost's and Vitess's own tests, and programs that call such a tool, about half an hour (JUDGES="--suites vitess --only '^enum'")
	go build -o bin/judge ./judge && bin/judge $(JUDGES)

soak: ## random changes, kills and faults for hours, then gigabytes of binlog (SOAK=30m for another time)
	MIDSTREAM_TEST_STRICT=1 go test -count=1 -v -timeout 0 -run TestSoak ./internal/engine/migration -soak $(or $(SOAK),4h)
	MIDSTREAM_TEST_STRICT=1 go test -count=1 -v -timeout 0 -run 'TestL5_Killed|TestL9_FaultAtAnyCommand|TestLedgerSurvives$$' ./internal/engine/migration -kills 100 -faults 250 -every-pair
	MIDSTREAM_TEST_STRICT=1 go test -count=1 -v -timeout 60m ./internal/lab/soak
	MIDSTREAM_TEST_FETCH=1 go test -count=1 -v -timeout 30m -run TestInterruptedFetchGoesOn ./internal/lab/sandbox

fleet-sim: ## the decisions of change sets: ten million steps, then every rule broken once, five minutes
	go test -count=1 -v -timeout 30m -run TestRollout ./internal/lab/fleetsim -args -fleetsim.total=10000000 -fleetsim.first=$$(date +%s)
	go test -count=1 -v -timeout 30m -run TestMutations ./internal/lab/fleetsim -args -fleetsim.mutants

fleet: ## bin/midstream-fleet: change sets on Temporal (docs/fleet-temporal.md), a module of its own
	cd temporal && CGO_ENABLED=0 GOWORK=off go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o ../bin/midstream-fleet .

# The first build of Temporal's server takes about three minutes of processor time.
fleet-test: bin/golangci-lint ## midstream-fleet: its linters, and all its tests with 50 kills, on real servers (FLEET="-short" for the short ones)
	cd temporal && GOWORK=off ../bin/golangci-lint run --allow-parallel-runners ./...
	cd temporal && MIDSTREAM_TEST_STRICT=1 GOWORK=off go test -vet=off -count=1 -timeout 60m ./flow ./activities ./lab $(FLEET)
	cd temporal && MIDSTREAM_TEST_STRICT=1 GOWORK=off go test -vet=off -count=1 -timeout 60m . $(FLEET) -args -kills $(if $(FLEET),3,50)

fuzz: ## every fuzz target, for two minutes each (FUZZ=10s for another time)
	@set -e; grep -rho --include='*_test.go' '^func Fuzz[A-Za-z]*' internal | sed 's/func //' | sort | while read -r target; do \
		package=$$(dirname $$(grep -rl --include='*_test.go' "^func $$target(" internal)); \
		echo "== $$target of $$package"; \
		go test ./$$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(or $(FUZZ),2m); done

bench: build ## measure beside other tools, about 90 minutes (BENCH="--rows 50000 --rounds 1" for other flags)
	go build -o bin/bench ./bench && bin/bench $(BENCH)

docs: ## write the generated pages of docs/ anew
	go test ./internal/cli -run 'TestDocs|TestErrorsPage' -update
	go test ./internal/lab/layout -run TestMaps -update
	go test ./internal/lab/fleetsim -run TestFleetPage -update
