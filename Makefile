# The two commands of the README, and what a developer needs. Everything is set up on a fresh machine
# that has Python 3.11+ with venv, make and a package index; nothing is installed on the system.
PYTHON ?= python3
VENV   ?= .venv
PY      = $(VENV)/bin/python
READY   = $(VENV)/.ready
WORKERS ?= auto
# tests of settings in namespaces wait more than they work
SLEEPERS ?= 4

.PHONY: run quick fast test check map golden mutants chain lab record lab-full lab-shell clinic clinic-page clinic-full bench zipapp limits clean help
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "nettop needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "this Python has no venv: install python3-venv (Debian, Ubuntu) and run make again"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

run: $(READY) ## start nettop on this host
	@$(VENV)/bin/nettop $(ARGS)

map: $(READY) ## print the layers of the code
	@$(PY) tests/layers.py

check: $(READY) ## check format, lint and types
	$(PY) -m ruff format --check src tests
	$(PY) -m ruff check src tests
	$(PY) -m mypy

# one checker of types leaves a core idle: the tests run beside it
quick: $(READY) ## run lint, types and the tests that need no namespace: about two minutes
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line check fast

fast: $(READY) ## run the tests that need no namespace and are not slow
	$(PY) -m pytest -n $(WORKERS) -m "not netns and not slow" --hypothesis-profile quick tests

test: $(READY) ## run lint, types and all tests that this machine supports
	@$(PY) tests/everything.py --workers $(WORKERS) --sleepers $(SLEEPERS)

golden: $(READY) ## rewrite golden files and screenshots
	$(PY) -m pytest -q tests --update

mutants: $(READY) ## list small changes of the code that no test notices (COUNT=25 SEED=1); by hand
	@$(PY) tests/mutants.py --count $(or $(COUNT),25) --seed $(or $(SEED),1) $(FOLDERS)

chain: $(READY) ## play fault, alert, rollout and undo on three hosts with Ansible and Prometheus
	@$(PY) tests/chain/run.py --out lab-out/chain

lab: $(READY) ## test with real drivers and two NUMA nodes in a virtual machine
	@$(PY) -m pip install --quiet --disable-pip-version-check virtme-ng
	@sh tests/lab/run.sh $(PY) two-nodes virtio-rss

lab-full: $(READY) ## run the lab in every topology
	@$(PY) -m pip install --quiet --disable-pip-version-check virtme-ng
	@NETTOP_LAB_FULL=1 sh tests/lab/run.sh $(PY) two-nodes virtio-rss one-core bond-vlan many-cores no-numa

record: $(READY) ## record a clinic scenario as a test host (SCENARIO="part of its name" NAME=x)
	@$(PY) tests/live/record.py "$(SCENARIO)" "$(NAME)"

lab-shell: $(READY) ## open a shell in the lab (TOPOLOGY=two-nodes)
	@$(PY) -m pip install --quiet --disable-pip-version-check virtme-ng
	@$(PY) tests/lab/boot.py $(or $(TOPOLOGY),two-nodes) --shell

clinic: $(READY) ## print the scoreboard of diagnoses, and of generated hosts (COUNT=100 a fault)
	@$(PY) tests/live/run.py
	@$(PY) tests/live/run.py --generated $(or $(COUNT),100)

clinic-page: $(READY) ## play everything and write docs/clinic.md (COUNT=100 a fault, MINUTES=20 now)
	@$(PY) tests/live/run.py --page --generated $(or $(COUNT),100) $(if $(MINUTES),--minutes $(MINUTES))

clinic-full: $(READY) ## print the scoreboard, including fixes, sweeps and peers
	@$(PY) tests/live/run.py --full

bench: $(READY) ## measure speed and cost, as root; print a table of all goals; assert nothing (MINUTES=20 now)
	@$(PY) tests/benchmarks/every.py $(if $(MINUTES),--minutes $(MINUTES))

limits: $(READY) ## play every staged limit and rewrite docs/limits.md; by hand, as root (ONLY="words")
	$(PY) tests/live/limits/page.py --write --only "$(ONLY)"

zipapp: $(READY) ## build one file for hosts without a package index
	@$(PY) tests/pyz.py

clean: ## remove all generated files
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis lab-out
