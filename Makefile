# The front door. Each target sets itself up (tools/bootstrap installs missing Debian packages), but
# for install, which is run as root; the build itself is CMake's, see CMakePresets.json.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOAK_STREAMS ?= 500
# What threads share: workers, reloads, the audit log, exports, logs, draining, offloaded detectors.
TSAN_TESTS := test_(reload|audit|export|drain|load|providers|route_streams|keys|descriptors)\.py
PYTHON := /usr/bin/python3

.PHONY: help run build test test-clients test-presidio soak tsan fresh check fmt fuzz bench at-scale install dist dist-test deploy-test clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

run: ## build an optimised server and start it on 8033 and 8034 (ARGS='--http-port 9000')
	@tools/bootstrap build
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target weir
	@exec build/release/weir $(ARGS)

build: ## build/release/weir and weir-mock, the test runners in build/release/tests, the bench programs
	@tools/bootstrap build
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS)

test: ## every test, with the address and undefined-behaviour sanitizers (T=pattern: some)
	@tools/bootstrap build test
	@tools/bootstrap-node
	@tools/bootstrap-python
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS)
	@$(PYTHON) tools/run-tests --build build/asan --jobs $(JOBS) '$(T)'

soak: ## every fault, every allocation that fails, 100,000 masked conversations of each API, slow callers, h2spec, then SOAK_SECONDS (600) of SOAK_STREAMS (500) streams
	@tools/bootstrap build test
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS) --target weir weir-mock preload_syscalls preload_memory
	@WEIR_BUILD_DIR='$(CURDIR)/build/asan' WEIR_TEST_SOAK=1 \
		$(PYTHON) -m pytest -q tests/integration/test_streams.py -k byte_a_second
	@WEIR_BUILD_DIR='$(CURDIR)/build/asan' WEIR_MASK_ROUNDS=100000 \
		$(PYTHON) -m pytest -q tests/integration/test_masking_property.py
	@WEIR_BUILD_DIR='$(CURDIR)/build/asan' WEIR_FAULT_CELLS=all $(PYTHON) -m pytest -q \
		tests/integration/test_fault_matrix.py tests/integration/test_fault_bystanders.py \
		tests/integration/test_syscalls.py tests/integration/test_detector_faults.py
	@WEIR_BUILD_DIR='$(CURDIR)/build/asan' WEIR_MEMORY_STEP=1 $(PYTHON) -m pytest -q \
		tests/integration/test_memory_runs_out.py
	@tools/h2spec build/asan
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target weir weir-mock
	@$(PYTHON) bench/soak.py --seconds $(SOAK_SECONDS) --streams $(SOAK_STREAMS)

tsan: ## the integration tests with the thread sanitizer (T=pattern: some)
	@tools/bootstrap build test
	@cmake --preset tsan >/dev/null
	@cmake --build build/tsan -j $(JOBS) --target weir weir-mock
	@WEIR_BUILD_DIR='$(CURDIR)/build/tsan' WEIR_TEST_PATTERN='$(or $(T),$(TSAN_TESTS))' \
		$(PYTHON) -m pytest -q -p no:cacheprovider tests/integration

fresh: ## README's commands on a bare Debian made for it, from a clone of HEAD (A=--keep: leave it)
	@tools/bootstrap fresh
	@$(PYTHON) tools/fresh $(A)

check: ## format, clang-tidy, layers, sizes, banned calls, headers, names, unused functions, paths, instructions per token (C=layers: one)
	@tools/bootstrap build check
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target weir_generated
	@$(PYTHON) tools/check --jobs $(JOBS) $(C)

fmt: ## format the sources in place
	@tools/bootstrap check
	@$(PYTHON) tools/check-format --fix

fuzz: ## run each fuzz target for FUZZ_SECONDS (60) seconds (F=json: one)
	@tools/bootstrap build fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz -j $(JOBS)
	@$(PYTHON) tools/run-fuzz --seconds $(FUZZ_SECONDS) $(F)

bench: ## run the benchmarks on an optimised build (B=health: one)
	@tools/bootstrap build bench
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS)
	@$(PYTHON) tools/run-bench $(B)

at-scale: ## stored conversations through weir detect under Spark, in local mode; needs Java (RECORDS=20000)
	@tools/bootstrap build
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target weir
	@tools/at-scale

install: ## install what make build has built below PREFIX (/usr/local), within DESTDIR
	@test -x build/release/weir || { echo 'make install: nothing is built yet, run make build' >&2; exit 1; }
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

dist: ## from HEAD into build/dist: the Debian package, the container image, the list of parts
	@tools/bootstrap build dist
	@$(PYTHON) tools/make-dist

test-presidio: ## Presidio's analyzer, installed from PyPI, asked by the gateway
	@tools/bootstrap build test
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS) --target weir
	@test -x build/presidio/bin/python || $(PYTHON) -m venv build/presidio
	@build/presidio/bin/pip install -q presidio-analyzer
	@WEIR_PRESIDIO_PYTHON=$(CURDIR)/build/presidio/bin/python $(PYTHON) -m pytest -q -ra -p no:cacheprovider \
		tests/integration/test_presidio.py

test-clients: ## LangChain, LlamaIndex, LiteLLM, pydantic-ai, instructor and OpenAI agents, installed from PyPI, as the gateway's clients
	@tools/bootstrap build test
	@cmake --preset asan >/dev/null
	@cmake --build build/asan -j $(JOBS) --target weir
	@tools/bootstrap-node
	@test -x build/clients/bin/python || $(PYTHON) -m venv build/clients
	@build/clients/bin/pip install -q --no-deps -r tests/integration/python/more_requirements.txt
	@WEIR_CLIENTS_PYTHON=$(CURDIR)/build/clients/bin/python WEIR_BUILD_DIR='$(CURDIR)/build/asan' \
		$(PYTHON) -m pytest -q -ra -p no:cacheprovider tests/integration/test_more_clients.py \
		tests/integration/test_dialect_frameworks.py

dist-test: dist ## install and start what dist made, in a bare root and a container; needs root
	@tools/bootstrap dist disttest
	@$(PYTHON) -m pytest -q -ra -p no:cacheprovider tests/dist/test_deb.py tests/dist/test_image.py

deploy-test: ## render deploy/ with kustomize and helm, check it against the API's schemas
	@tools/bootstrap build deploytest
	@cmake --preset release >/dev/null
	@cmake --build build/release -j $(JOBS) --target weir
	@tools/deploy-tools
	@$(PYTHON) -m pytest -q -ra -p no:cacheprovider tests/dist/test_deploy.py

clean: ## remove everything built
	@rm -rf build
