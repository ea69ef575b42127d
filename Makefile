# The two commands of the README, and what a developer needs. Everything is set up on a fresh machine
# that has Python 3.11+ with venv, make and a package index; nothing is installed on the system.
PYTHON ?= python3
VENV   ?= .venv
PY      = $(VENV)/bin/python
READY   = $(VENV)/.ready
WORKERS ?= auto

.PHONY: run quick fast test tests package live nightly check map golden mutants chain lab lab-full lab-shell bench binary limits clean help
.DEFAULT_GOAL := help

# list the targets
help:
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

# print the layers of the code
map: $(READY)
	@$(PY) tests/layers.py

# check format, lint and types
check: $(READY)
	$(PY) -m ruff format --check src tests
	$(PY) -m ruff check src tests
	$(PY) -m mypy

quick: $(READY) ## run lint, types and the tests of what changed and of its neighbours
	@$(MAKE) --no-print-directory --keep-going --jobs 2 check fast

# temporary files of tests in memory, where it has room: see tests/conftest.py
fast tests: export IN_MEMORY = 1

fast: $(READY)
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile \
	  -m "not netns and not slow and not live and not package and not nightly" $$($(PY) tests/quick.py)

# One worker more than cores: tests of namespaces, and of an index, mostly wait.
test: $(READY) ## run lint, types and every test whose result is the same on each machine
	@$(MAKE) --no-print-directory --keep-going --jobs 2 check tests

tests: $(READY)
	@$(PY) -m pytest -n $$(($$(nproc) + 1)) --dist loadfile --no-loadscope-reorder tests

package: $(READY) ## test what users install: wheel, one file, each Python here, examples of CONTRIBUTING
	@$(PY) -m pytest -n $$(($$(nproc) + 1)) --dist loadfile --no-loadscope-reorder -m package \
	  $$(grep -rl --include='test_*.py' mark.package tests)

live: $(READY) ## play real traffic, as root, and print the scoreboard (PLAY="names" ALL=1 MINUTES=8 STRICT=1)
	@$(PY) tests/live/run.py $(PLAY) $(if $(ALL),--all) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(STRICT),--strict) $(if $(WRITE),--write)

nightly: binary ## run what takes hours: seeds, long properties, mutants, all plays and topologies, the chain
	$(PY) -m pytest -n $(WORKERS) --hypothesis-profile nightly -m "nightly or not live" tests
	$(PY) tests/generated/play.py 20
	$(PY) tests/generated/ways.py 500
	$(PY) tests/mutants.py --count 60 --seed $$(date +%j)
	$(PY) tests/live/run.py --all --cures --write
	$(MAKE) lab-full chain

golden: $(READY) ## rewrite golden files and screenshots
	$(PY) -m pytest -n $(WORKERS) --dist loadfile tests --update

# list small changes of the code that no test notices (COUNT=25 SEED=1); by hand
mutants: $(READY)
	@$(PY) tests/mutants.py --count $(or $(COUNT),25) --seed $(or $(SEED),1) $(FOLDERS)

# play fault, alert, rollout and undo on three hosts with Ansible and Prometheus
chain: $(READY)
	@$(PY) tests/chain/run.py --out lab-out/chain

lab: $(READY) ## test settings of real drivers and two NUMA nodes in a virtual machine
	@$(PY) -m pip install --quiet --disable-pip-version-check virtme-ng
	@sh tests/lab/run.sh $(PY) two-nodes

# run the lab in every topology
lab-full: $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check virtme-ng
	@NETTOP_LAB_FULL=1 sh tests/lab/run.sh $(PY) two-nodes virtio-rss one-core bond-vlan many-cores no-numa

# open a shell in the lab (TOPOLOGY=two-nodes)
lab-shell: $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check virtme-ng
	@$(PY) tests/lab/boot.py $(or $(TOPOLOGY),two-nodes) --shell

bench: $(READY) ## measure speed and cost, as root; print a table of all goals; assert nothing (MINUTES=20 now)
	@$(PY) tests/benchmarks/every.py $(if $(MINUTES),--minutes $(MINUTES))

# play every staged limit and rewrite docs/records/limits.md; by hand, as root (ONLY="words")
limits: $(READY)
	$(PY) tests/live/limits/page.py --write --only "$(ONLY)"

binary: $(READY) ## build nettop with its own Python as one file for each machine (MACHINE=x86_64)
	@$(PY) tests/binary/one_file.py $(MACHINE)

# remove all generated files
clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis lab-out
