# Every target makes its own environment in .venv; Python 3.11 or newer is all it needs.
PYTHON ?= python3
# Tests of GPU code need torch, which is large: make test TORCH=torch
TORCH ?=
# Set to anything to measure branch coverage: make test COVERAGE=yes
COVERAGE ?=
# Number and seed of random cases: make fuzz CASES=20000 SEED=7
CASES ?= 300
SEED ?= 0
BIN := .venv/bin
READY := .venv/ready

# One process per core with one BLAS thread each: with more BLAS threads the tests take half as long again.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadgroup
# Smallest branch coverage, in percent, of the packages that compute the results.
COVERED := kernels:96 solvers:96 _fillers:96 _validation:96

.PHONY: demo test check lint hooks coverage-floors test-lowest fuzz bench size clean

demo: $(READY)          ## fill damaged pictures of digits and draw the result
	$(BIN)/manifill demo

test: $(READY)          ## all tests, doctests included
	$(PYTEST) $(if $(COVERAGE),--cov --cov-report=)
	$(if $(COVERAGE),$(MAKE) coverage-floors)

coverage-floors:        ## fail if a package has less branch coverage than its floor
	@$(foreach one,$(COVERED),$(BIN)/coverage report --skip-covered --include='src/manifill/$(firstword $(subst :, ,$(one)))/*' \
	  --fail-under=$(lastword $(subst :, ,$(one))) &&) true

check: $(READY) lint test  ## lint, strict types, tests

lint: $(READY)          ## the checks of .pre-commit-config.yaml
	$(BIN)/pre-commit run --all-files

hooks: $(READY)         ## run the checks before every commit
	$(BIN)/pre-commit install

test-lowest:            ## tests with the lowest versions that pyproject.toml allows
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check --constraint tests/lowest.txt --editable '.[dev]'
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -q -n auto --dist loadgroup

fuzz: $(READY)          ## 300 random tables, frames, files, models and pictures, with checks of the results
	$(BIN)/python -m fuzz all --cases $(CASES) --seed $(SEED) --jobs 2

bench: $(READY)         ## accuracy, time and memory of manifill and others, into benchmarks/results/ (many hours)
	$(BIN)/python -m benchmarks

size: $(READY)          ## lines, classes and constants; fails if a function or module is too long
	$(BIN)/python -m benchmarks.size --check

clean:
	rm -rf .venv .venv-lowest

$(READY): pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'manifill needs Python 3.11 or newer')"
	$(PYTHON) -m venv .venv
	$(if $(TORCH),$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH))
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)
