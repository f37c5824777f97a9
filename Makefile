# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# what is measured here is what the sources make, not what was kept of them
demo bench gradbench fuzz conformance: export SRCGRAPH_CACHE = 0

# the tests start many processes: each would compile the package's sources again
unexport PYTHONDONTWRITEBYTECODE

PEERS := .venv-peers
PYTHRAN := .venv-pythran
DACE := .venv-dace

.PHONY: demo test pythons lowest lint bench bench-peers gradbench golden fuzz conformance native second_order clean

# make fuzz N=20000 SEED=1: random programs against CPython
N    ?= 1000
SEED ?= 0

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.test: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP) -e ".[test,notebook,demo]"
	@touch $@

$(VENV)/.demo: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP) -e ".[demo]"
	@touch $@

$(VENV)/.lint: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP) -e ".[lint]"
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto

# make pythons PYTHONS="python3.12 python3.13": the tests under other versions of Python, each in an environment of its own
pythons:
	for python in $(PYTHONS); do $(MAKE) test PYTHON=$$python VENV=.venv-$$(basename $$python) || exit 1; done

# make lowest: the tests with the oldest versions of everything that pyproject.toml allows
LOWEST := .venv-lowest
lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -c "$$OLDEST" > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/constraints.txt -e ".[test,notebook,demo]"
	$(LOWEST)/bin/python -m pytest -n auto

define OLDEST
import re, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
for line in {*project["dependencies"], *extras["test"], *extras["notebook"], *extras["demo"]}:
    print(re.sub(",.*", "", line.replace(">=", "==")))
endef
export OLDEST

golden: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile --update-golden tests/test_golden.py tests/test_errors.py \
		tests/test_readme.py tests/test_notebooks.py tests/test_tape.py tests/ir/test_pages.py tests/opt/test_catalog.py \
		tests/runtime/test_cuda.py

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

# with every peer that `make bench-peers` installed; NPBench's kernels if SRCGRAPH_NPBENCH names a checkout of it
bench: $(VENV)/.test
	$(firstword $(wildcard $(PEERS)/bin/python) $(BIN)/python) benchmarks --write
	$(BIN)/python benchmarks/cache.py

# beside the package, never of it; pythran and DaCe apart from the others, which want other versions of what it needs
bench-peers:
	$(PYTHON) -m venv $(PEERS)
	grep -v '^mpmath=' constraints.txt > $(PEERS)/constraints.txt  # torch's sympy wants an older one
	$(PEERS)/bin/python -m pip install --quiet -c $(PEERS)/constraints.txt -e . matplotlib jax autograd numexpr torch==2.13.0
	$(PYTHON) -m venv $(PYTHRAN)
	$(PYTHRAN)/bin/python -m pip install --quiet "pythran>=0.18" scipy-openblas64 setuptools numpy==2.4.6
	$(PYTHON) -m venv $(DACE)
	$(DACE)/bin/python -m pip install --quiet -c $(PEERS)/constraints.txt -e . dace==2.0.0b1 scipy-openblas32

gradbench: $(VENV)/.test
	cd benchmarks && $(abspath $(BIN))/python -m gradbench

fuzz: $(VENV)/.test
	cd tests && $(abspath $(BIN))/python -m fuzz $(N) --seed $(SEED) --native 50

# everything compiled, where `make test` runs most texts as plain Python
native: $(VENV)/.test
	SRCGRAPH_NATIVE=all $(BIN)/python -m pytest -n auto

second_order: $(VENV)/.test
	SRCGRAPH_SECOND_ORDER=all $(BIN)/python -m pytest -n auto tests/test_second_order.py

conformance: $(VENV)/.test
	cd tests && $(abspath $(BIN))/python -m external --write ../docs/conformance.md
	cd tests && $(abspath $(BIN))/python -m conformance --quiet --write ../docs/conformance_graphs.md

clean:
	rm -rf $(VENV) .venv-python* $(PEERS) $(PYTHRAN) $(DACE) build dist *.egg-info demo_output
