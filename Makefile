# make demo: sets up and derives the gradients of a linear layer with squared error.
# make test: sets up and passes the tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -q -c constraints.txt

.PHONY: demo test lint types pytest speed reports picture clean

demo: $(VENV)/.run
	$(BIN)/symderive derive derivations/linear_mse.yaml

test: lint types pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# One thread a worker: two workers fill two cores.
pytest: $(VENV)/.dev node_modules/.package-lock.json
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

speed: $(VENV)/.run
	$(BIN)/python experiments/speed/run.py

reports: $(VENV)/.report
	PATH="$(abspath $(BIN)):$$PATH" experiments/reports.sh

picture: $(VENV)/.run
	$(BIN)/python docs/picture.py

$(VENV)/.report: $(VENV)/.run
	$(PIP) -e '.[report]'
	touch $@

$(VENV)/.run: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) -e '.[dev]'
	touch $@

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	touch $@

clean:
	rm -rf $(VENV) node_modules build *.egg-info
