# Two commands to know: `make lint` and `make test`. Both set up what they need in $(VENV) first.
#
#   make lint                             on the sample tree in fixtures/sample
#   make lint SRC=path/to/code            on your code
#   make lint RELEASE=sglang==0.5.23      on a release, fetched once with pip into .releases/
#   make lint SRC=... ARGS="--output json"

PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
SAMPLE := fixtures/sample
SRC ?=
RELEASE ?=
ARGS ?=
TREE ?= $(SAMPLE)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: lint test style types layers generated unit site typeview format generate bench costs exam exam-routes clean bench-server vsix

# The sample tree is there to be complained about: findings are its success, silence (0) and errors (2) are not.
lint: $(VENV)/.ready
ifneq ($(RELEASE),)
	@tree=$$($(BIN)/python tools/fetch_release.py $(RELEASE)) && $(BIN)/moelint check $(ARGS) "$$tree"
else ifneq ($(SRC),)
	@$(BIN)/moelint check $(ARGS) $(SRC)
else
	@$(BIN)/moelint check $(ARGS) $(SAMPLE); rc=$$?; \
	if [ $$rc -eq 1 ]; then echo "The sample is wrong on purpose. For your own code: make lint SRC=path"; \
	else echo "expected findings in $(SAMPLE), got exit code $$rc" >&2; exit 2; fi
endif

test: ARGS := --where-possible
test: style types layers generated site unit

style: $(VENV)/.ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.ready-dev typeview
	$(BIN)/mypy
	$(BIN)/mypy tools bench

layers: $(VENV)/.ready-dev typeview
	PYTHONPATH=.typeview $(BIN)/lint-imports

generated: $(VENV)/.ready-dev
	$(BIN)/python tools/make_index.py --check
	$(BIN)/python tools/make_rule_docs.py --check
	$(BIN)/python tools/make_config_docs.py --check
	$(BIN)/python tools/make_nav.py --check

unit: $(VENV)/.ready-unit
	$(BIN)/python -m pytest

# The documentation, in site/; fails for a page in no section and for links that lead nowhere
site: $(VENV)/.ready-docs
	$(BIN)/python tools/make_site.py $(ARGS)

typeview: $(VENV)/.ready
	@$(BIN)/python tools/typeview.py

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

generate: $(VENV)/.ready-dev
	$(BIN)/python tools/make_index.py
	$(BIN)/python tools/make_rule_docs.py
	$(BIN)/python tools/make_config_docs.py
	$(BIN)/python tools/make_nav.py

# Speed against the peers, on TREE: make bench TREE=.releases/sglang-0.5.23 ARGS=--check
bench: $(VENV)/.ready-bench
	$(BIN)/python bench/compare.py --tree $(TREE) $(ARGS)

# Speed of the language server against ruff's and pylint's: make bench-server FILE=path/to/deepseek_v2.py ARGS=--check
bench-server: $(VENV)/.ready-bench
	$(BIN)/python bench/server.py --file $(FILE) $(ARGS)

# The VS Code extension, packaged; needs npm
vsix: $(VENV)/.ready
	$(BIN)/python tools/package_extension.py $(ARGS)

# Which rules the time goes to, on TREE
costs: $(VENV)/.ready
	$(BIN)/python bench/rule_costs.py $(TREE)

# What the rules see in releases and in re-created bugs: make exam ARGS="--releases DIR --check"
exam: $(VENV)/.ready
	@rc=0; for part in sites items cases trees; do $(BIN)/python bench/exam_$$part.py $(ARGS) || rc=1; done; exit $$rc

# What route analysis sees in releases and in re-created bugs: make exam-routes ARGS="--releases DIR --check"
exam-routes: $(VENV)/.ready
	@rc=0; $(BIN)/python bench/exam_cases.py --routes $(ARGS) || rc=1; \
	$(BIN)/python bench/exam_routes.py $(ARGS) || rc=1; $(BIN)/python bench/exam_coverage.py $(ARGS) || rc=1; exit $$rc

$(VENV)/.ready: pyproject.toml setup.py
	$(PYTHON) tools/venv.py $(VENV)
	@touch $@

$(VENV)/.ready-dev: pyproject.toml setup.py
	$(PYTHON) tools/venv.py $(VENV) dev
	@touch $(VENV)/.ready $@

# The probe's tests need torch, which is large; nothing but the tests does.
$(VENV)/.ready-unit: pyproject.toml setup.py
	$(PYTHON) tools/venv.py $(VENV) dev probe-test
	@touch $(VENV)/.ready $(VENV)/.ready-dev $@

$(VENV)/.ready-docs: pyproject.toml setup.py
	$(PYTHON) tools/venv.py $(VENV) docs
	@touch $(VENV)/.ready $@

$(VENV)/.ready-bench: pyproject.toml setup.py
	$(PYTHON) tools/venv.py $(VENV) bench
	@touch $(VENV)/.ready $@

clean:
	rm -rf $(VENV) .typeview .releases build dist site .cache *.egg-info .moelint_cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
