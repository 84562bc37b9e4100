# Every target makes its own environment in .venv; a Python of at least 3.11 is all it needs.
PYTHON ?= python3
# The tests of the device engine need torch, which is large: make test TORCH=torch
TORCH ?=
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test check lint bench size clean

demo: $(READY)          ## fill damaged pictures and show what came out
	$(BIN)/manifill demo

# A process for each core, each with one thread: threads of BLAS that wait for each other take half as long again.
test: $(READY)          ## all tests, doctests included
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadgroup

check: $(READY) lint test  ## lint, strict types, tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)         ## accuracy, time and memory, ours and the peers', into benchmarks/results/
	$(BIN)/python -m benchmarks

size: $(READY)          ## lines, classes and constants; fails where a function or a module is too long
	$(BIN)/python -m benchmarks.size --check

clean:
	rm -rf .venv

$(READY): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'manifill needs Python 3.11 or newer')"
	$(PYTHON) -m venv .venv
	$(if $(TORCH),$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH))
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)
