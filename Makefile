# Two commands for a newcomer: `make demo` shows the main job on real input, `make test` runs the tests.
# Each makes its own .venv and needs nothing but Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-oldest test-newest nightly lint bench site man release-check test-megatron-0.19 clean

demo: $(VENV)/installed
	$(BIN)/scalelens demo -o demo-output

# Three at once also on two cores, since some tests wait for processes that they started.
WORKERS ?= 3

test: $(VENV)/tested
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Each in an environment of its own: the oldest packages that pyproject.toml admits, and the newest that there are.
test-oldest test-newest: test-%:
	$(PYTHON) -m venv --clear .venv-$*
	$(PYTHON) tests/minima.py pyproject.toml > .venv-$*/minima.txt
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check $(if $(filter oldest,$*),--constraint .venv-$*/minima.txt) --editable . --requirement requirements-test.txt
	.venv-$*/bin/python -m pytest -n $(WORKERS) --dist worksteal

nightly: $(VENV)/tested test-oldest test-newest
	$(BIN)/python -m pytest -m slow
	nice $(BIN)/python tests/fuzz_in_shards.py 1000000
	$(BIN)/python tests/tracker_versions.py

lint: $(VENV)/tested
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/tested
	$(BIN)/python benchmarks/ingest.py

site: $(VENV)/documented
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --clean

man: $(VENV)/installed
	$(BIN)/python docs/manual.py > docs/scalelens.1

# Builds, installs into an empty environment and runs the demo without a network; `pip download` needs one before.
release-check:
	bash .ci/release-check $(PYTHON)

# The language runner on megatron-core 0.19, which needs Python 3.12; `make test` tests it on 0.16.
PYTHON312 ?= python3.12

test-megatron-0.19:
	@command -v $(PYTHON312) > /dev/null && $(PYTHON312) -c 'import sys; sys.exit(sys.version_info < (3, 12))' \
		|| { echo "megatron-core 0.19 needs Python 3.12 or newer, and there is no $(PYTHON312): make $@ PYTHON312=..." >&2; exit 2; }
	$(PYTHON312) -m venv .venv-megatron-0.19
	.venv-megatron-0.19/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	sed 's/^megatron-core==.*/megatron-core>=0.19,<0.20/' requirements-test.txt > .venv-megatron-0.19/requirements.txt
	.venv-megatron-0.19/bin/python -m pip install --quiet --disable-pip-version-check --requirement .venv-megatron-0.19/requirements.txt
	.venv-megatron-0.19/bin/python -m pytest tests/test_language.py -n 0

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "ScaleLens needs Python 3.11 or newer: make PYTHON=python3.11")'
	@echo "making $(VENV) and installing ScaleLens into it: a minute, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/tested: $(VENV)/installed pyproject.toml requirements-test.txt
	@echo "installing what the tests need, PyTorch's CPU build among it: minutes, once"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-test.txt
	@touch $@

$(VENV)/documented: $(VENV)/installed requirements-docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-docs.txt
	@touch $@

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-megatron-0.19 demo-output build/site build/release
