# Everything a developer and CI run.  Each target makes its own virtual environment in .venv,
# with uv where it is installed and with plain pip where it is not.
#
# `make test ROOM=voile-geo` runs the tests of one distribution, `make test ROOM=dp` those of one room,
# the folder dp of the tests of a distribution, `make test ROOM="dp ledger"` those of several; so
# does `make slow`.  Without ROOM all tests are run.
# `make mutants ROOM=dp SAMPLE=200 SEED=1` plants a sample of the faults, without SAMPLE all of them.

PYTHON ?= python3
BIN := .venv/bin
ROOMS := $(foreach room,$(ROOM),$(or $(wildcard packages/$(room) packages/*/*_tests/$(room) tests/$(room)),\
    $(error there is no room $(room))))

# Tests start hundreds of processes; with this variable each of them compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test slow alone decisions check lint types walls mutants coverage
.PHONY: bench docs site pdf lock changelog release clean

help:                          ## this list
	@grep -hE "^[a-z]+:.*##" $(MAKEFILE_LIST) | sed -E "s/:[^#]*## /\t/" | expand -t 12

demo: .venv/installed          ## publish the example table twice, query it, attack it
	$(BIN)/voile demo

test: .venv/developer          ## the tests, in a few minutes on two cores
	$(BIN)/pytest -q -n 2 -m "not slow" $(ROOMS)

slow: .venv/developer          ## the exhaustive and the long tests, and properties on more examples
	$(BIN)/pytest -q -n 2 -m "slow or hypothesis" --hypothesis-profile long $(ROOMS)

# What each distribution needs of the others; voile-testing needs the base, which no index has.
NEEDS_voile-base := voile-base
NEEDS_voile-geo := voile-base
NEEDS_voile-share := voile-base voile-geo
NEEDS_voile := voile-base voile-geo
NEEDS_voile-pack := voile-base voile-geo voile
NEEDS_voile-studio := voile-base voile-geo voile

alone:                         ## the tests of one distribution, with nothing else installed: ROOM=voile-share
	$(if $(ROOM),,$(error say which distribution: make alone ROOM=voile-share))
	test -d .alone/$(ROOM) || $(PYTHON) -m venv .alone/$(ROOM)
	.alone/$(ROOM)/bin/python -m pip install -q --disable-pip-version-check \
	    $(foreach one,$(NEEDS_$(ROOM)) voile-testing,-e packages/$(one)) -e 'packages/$(ROOM)[test]'
	cd packages/$(ROOM) && ../../.alone/$(ROOM)/bin/pytest -q -n 2 -m "not slow"

decisions: .venv/developer     ## all small tables of persons and all small systems of cells, every way: an hour
	EVERY_WAY=1 $(BIN)/pytest -q -n 2 packages/voile/voile_tests/publish/generalization/test_small_tables.py \
	    $(addprefix packages/voile/voile_tests/,tabular/test_brute_force.py publish/test_ke_brute_force.py \
	    publish/ranking/test_persons.py publish/ranking/test_lasting.py \
	    publish/m_shuffle/test_persons.py \
	    publish/test_ke_persons.py)

check: lint types walls test slow   ## what CI runs, the quick before the slow

lint: .venv/developer          ## style, and likely faults
	$(BIN)/ruff check packages tests benchmarks tools hatch_build.py noxfile.py
	$(BIN)/ruff format --check packages tests benchmarks tools hatch_build.py noxfile.py

types: .venv/developer         ## mypy, strict
	$(BIN)/mypy

walls: .venv/developer         ## who may import whom, and that no modules import each other in a circle
	$(BIN)/lint-imports
	$(BIN)/python tools/count_imports.py
	$(BIN)/pytest -q -n 0 tests/test_walls.py -k "asks_for_a_name or randomness"

mutants: .mutants/venv/installed ## faults that the tests of a room do not notice: ROOM=dp
	.mutants/venv/bin/python tools/mutants.py $(or $(ROOM),$(error say which room: make mutants ROOM=dp)) \
	    $(addprefix --sample ,$(SAMPLE)) $(addprefix --seed ,$(SEED))

# In percent, a little below what was measured; others have the floor of pyproject.toml.
FLOOR_voile-geo := 72

coverage: .mutants/venv/installed ## lines that its quick tests run, with a floor: ROOM=voile-geo
	$(if $(ROOM),,$(error say which distribution: make coverage ROOM=voile-geo))
	mkdir -p build
	rm -f build/coverage*
	.mutants/venv/bin/python -m coverage run -m pytest -q -m "not slow" packages/$(ROOM)
	.mutants/venv/bin/python -m coverage combine -q
	.mutants/venv/bin/python -m coverage report --include="packages/$(ROOM)/src/*" \
	    $(addprefix --fail-under=,$(FLOOR_$(ROOM)))

bench: .venv/developer         ## the measurements of benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

docs: .venv/developer          ## write again what is generated in docs/
	$(BIN)/python tools/make_cli_reference.py
	$(BIN)/python tools/make_schemas.py
	$(BIN)/python tools/make_architecture.py

site: .venv/site              ## the pages with search, links followed: build/site
	$(BIN)/python tools/make_site.py

pdf: .venv/site               ## the pages as one file to print, by a Chromium: build/voile.pdf
	$(BIN)/python tools/make_site.py --pdf build/voile.pdf

.venv/site: .venv/developer
	@$(call install,.venv,.[test$(comma)check$(comma)docs])

lock:                          ## the versions that CI installs, newest: requirements.lock; needs uv
	uv pip compile -q pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    -o requirements.lock

changelog:                     ## gather changes/ into CHANGELOG.md: VERSION=0.2.0; needs towncrier
	$(PYTHON) -m towncrier build --yes --version $(or $(VERSION),$(error say which version: make changelog VERSION=0.2.0))

release: .venv/developer       ## build all distributions, and try them: needs build, hatchling, twine, cyclonedx-bom
	$(PYTHON) tools/release.py --out dist

.venv/installed: pyproject.toml $(wildcard packages/*/pyproject.toml)
	@$(call install,.venv,.[full])

.venv/developer: pyproject.toml $(wildcard packages/*/pyproject.toml)
	@$(call install,.venv,.[test$(comma)check])

# By itself, because a compiler that finds the coverage that mutmut brings is slower to load.
.mutants/venv/installed: pyproject.toml $(wildcard packages/*/pyproject.toml)
	@mkdir -p .mutants
	@$(call install,.mutants/venv,.[test$(comma)mutation])

comma := ,
define install
	if command -v uv >/dev/null 2>&1; then \
	    (test -d $(1) || uv venv -q --python $(PYTHON) $(1)) && uv pip install -q --python $(1)/bin/python -e '$(2)'; \
	else \
	    (test -d $(1) || $(PYTHON) -m venv $(1)) && $(1)/bin/python -m pip install -q --disable-pip-version-check -e '$(2)'; \
	fi && touch $@
endef

clean:                         ## remove what was made here
	rm -rf .venv .alone .mutants build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
