# Every target can be run on its own, does again only what has changed, and installs what it needs: Debian packages as
# root (named in one error to anyone else), Python packages into .venv, all else into the cache of the test-bed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
UV_VERSION := 0.13.8
KAFKA_VERSION ?= 4.4.0
OLDER_KAFKA_VERSIONS ?= 4.1.2 3.9.2
WORKERS ?= 3
JOBS ?= 2
STORMS ?= 2000
SEED ?= 1
SOAK ?= $(HOME)/.cache/kafka-quorum-operator/soak
MINUTES ?= 120
QUORUMS ?= 10,100,300,1000

VENV := .venv/bin
PYTEST := $(VENV)/python -m pytest --durations=15 --durations-min=20
# Each file in one process, because its tests share servers; two of them for two cores.
PARALLEL := -n $(JOBS) --dist loadfile
TESTBED := $(VENV)/python e2e/testbed
# In the test-bed's network, where the API server, pods and services answer.
INSIDE := $(TESTBED) exec --

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' Makefile

# --- set-up ----------------------------------------------------------------------------------------------------------

SETUP_KEY = $(shell { cat requirements-dev.lock requirements-uv.lock pyproject.toml; $(PYTHON) -V; pwd; } | sha256sum)

.PHONY: setup
setup: ## make .venv with the locked packages; nothing if it is up to date
	@[ "$$(cat .venv/.stamp 2> /dev/null)" != "$(SETUP_KEY)" ] || exit 0; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "make: Python 3.11 or newer is needed; PYTHON=… chooses one" >&2; exit 1; }; \
	rm -f .venv/.stamp; \
	$(PYTHON) e2e/testbed venv-packages; \
	[ -x $(VENV)/python ] && $(VENV)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear .venv; \
	$(VENV)/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-uv.lock; \
	$(VENV)/uv pip install -q --compile-bytecode --python $(VENV)/python --require-hashes -r requirements-dev.lock; \
	$(VENV)/uv pip install -q --python $(VENV)/python --no-deps -e .; \
	echo "$(SETUP_KEY)" > .venv/.stamp

.PHONY: helm
helm: setup
	@$(TESTBED) helm-binary > /dev/null

.PHONY: prometheus
prometheus: setup
	@$(TESTBED) prometheus-binaries > /dev/null

.PHONY: kubeconform
kubeconform: setup
	@$(TESTBED) kubeconform-binary > /dev/null

.PHONY: testbed
testbed: setup ## a Kubernetes cluster with Kafka's and the operator's image on its workers
	@$(TESTBED) up --workers $(WORKERS)
	@$(TESTBED) base-images --kafka $(KAFKA_VERSION) > /dev/null
	@$(TESTBED) load testbed/kafka:$(KAFKA_VERSION)
	@$(TESTBED) operator-image > /dev/null
	@$(TESTBED) helm-binary > /dev/null

FOR_IMAGE := --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11 \
  --python-platform linux

.PHONY: lock
lock: setup ## resolve the dependencies anew into the requirement locks, uv of UV_VERSION among them
	{ echo "# uv, which installs everything else, by hash. Made by \`make lock\` from UV_VERSION of the Makefile."; \
	  echo "uv==$(UV_VERSION)" | $(VENV)/uv pip compile -q - --generate-hashes --no-emit-index-url --no-header \
	    --no-annotate --python-version 3.11 --universal; } > requirements-uv.lock.new
	mv requirements-uv.lock.new requirements-uv.lock
	$(VENV)/uv pip compile -q pyproject.toml --extra uvloop --extra observations --generate-hashes --no-emit-index-url \
	  --python-version 3.11 --universal -o requirements.lock
	$(VENV)/uv pip compile -q pyproject.toml --extra uvloop --extra observations --extra history --extra delta --group dev \
	  --generate-hashes --no-emit-index-url --python-version 3.11 --universal -o requirements-dev.lock
	{ echo "# What the history's image installs, and nothing else. Made by \`make lock\` from the extra \`history\` of pyproject.toml."; \
	  $(VENV)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	    print(*project["optional-dependencies"]["history"], sep="\n")' \
	    | $(VENV)/uv pip compile -q - -c requirements-dev.lock $(FOR_IMAGE); } > requirements-history.lock.new
	{ echo "# What builds PySpark in the history's image. Made by \`make lock\`."; \
	  echo "setuptools>=80" | $(VENV)/uv pip compile -q - $(FOR_IMAGE); } > requirements-build.lock.new
	for name in history build; do mv requirements-$$name.lock.new requirements-$$name.lock; done

.PHONY: crds
crds: setup ## generate the CRDs from the models, into crds/ and the chart
	$(VENV)/python -m kafka_quorum.api.crd
	$(VENV)/python -m kafka_brokers.api.crd
	$(VENV)/python -m kafka_streams.api.crd
	$(VENV)/python -m kafka_quorum.introspection.crd
	$(VENV)/python helm/render.py

.PHONY: kubectl-kq
kubectl-kq: setup ## the plugin `kubectl kq` as one file and as a wheel, in dist/
	@rm -rf build/kubectl-kq && mkdir -p build/kubectl-kq/kubectl_kq dist
	@cp operator/kubectl_kq/*.py operator/kubectl_kq/reasons.json build/kubectl-kq/kubectl_kq/
	@$(VENV)/python -m zipapp build/kubectl-kq -c -o dist/kubectl-kq -p '/usr/bin/env python3' -m kubectl_kq.__main__:run
	@$(VENV)/uv build -q --wheel --out-dir dist operator/kubectl_kq
	@ls dist/kubectl-kq dist/kubectl_kq-*.whl

# --- to look at ------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: setup ## a cluster, the chart, a quorum and a pool of brokers, and a record through them
	@$(VENV)/python e2e/demo.py --workers $(WORKERS)

.PHONY: down
down: ## delete the cluster; images and compiled programs stay
	@$(PYTHON) e2e/testbed down

# --- checks ----------------------------------------------------------------------------------------------------------

.PHONY: check
check: setup
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/lint-imports

.PHONY: test-unit
test-unit: helm prometheus kubeconform
	$(PYTEST) -n $(JOBS) -m "not simulation and not live and not e2e and not bench" --ignore tests/kraftlog \
	  --ignore tests/quorum_history

.PHONY: test-fast
test-fast: check test-unit ## lint, types, import contracts and unit tests; about seven minutes

.PHONY: test-simulation
test-simulation: setup ## the reconcile code against models of KRaft and Kubernetes, with faults
	$(PYTEST) tests/simulation $(PARALLEL) -m "simulation and not bench"

.PHONY: soak
soak: setup ## the whole simulation, goes on where it was ended, ends with a summary; HOURS=8 takes that long
	PYTHONPATH=operator:. $(VENV)/python -m tests.simulation.soak --storms $(STORMS) $(HOURS:%=--hours %) --keep $(SOAK)

.PHONY: mutants
mutants: setup ## deliberate faults of the source, each noticed by a share of the simulation
	PYTHONPATH=operator:. $(VENV)/python -m tests.simulation.mutants

.PHONY: mutation
mutation: setup ## mutmut over the planner: what its unit tests do not kill must be explained
	PYTHONPATH=operator:. $(VENV)/python -m tests.plan.mutation

.PHONY: test-live
test-live: setup ## real Kafka processes on loopback, of three releases
	@for version in $(KAFKA_VERSION) $(OLDER_KAFKA_VERSIONS); do $(TESTBED) kafka-jars $$version > /dev/null; done
	@PYTHONPATH=operator:. $(VENV)/python -m tests.live.streams fetch
	$(PYTEST) tests/live $(PARALLEL) -m "live and not bench and not full"

.PHONY: test-live-full
test-live-full: setup ## the same, and everything about brokers on four releases
	$(PYTEST) tests/live $(PARALLEL) -m "live and not bench"

.PHONY: streams-matrix
streams-matrix: setup ## every measured upgrade of a Kafka Streams application again, against measured.json; about an hour
	PYTHONPATH=operator:. $(VENV)/python -m tests.live.streams

.PHONY: test-e2e
test-e2e: testbed ## the end-to-end scenarios that belong to `make test`
	$(INSIDE) $(PYTEST) e2e/scenarios -m "not full and not bench"

HISTORY := tests/kraftlog tests/quorum_history

.PHONY: test-history
test-history: setup ## metadata logs and observations: samples, fuzzing, one Spark job of each kind
	@$(TESTBED) kafka-jars $(KAFKA_VERSION) > /dev/null
	$(PYTEST) $(HISTORY) $(PARALLEL) -m "not full and not browser and not bench"

.PHONY: test-history-full
test-history-full: setup ## the same with Kafka's own tools, all of the fuzzing, a Spark cluster, an S3 server, a browser
	@$(TESTBED) kafka-jars $(KAFKA_VERSION) > /dev/null
	@$(TESTBED) versitygw-binary > /dev/null
	@$(TESTBED) page-browser > /dev/null
	$(PYTEST) $(HISTORY) -m "not bench"

.PHONY: test-page
test-page: setup ## the history's page in a headless browser, which is installed: accessible, printable, narrow and wide
	@$(TESTBED) page-browser > /dev/null
	$(PYTEST) tests/quorum_history -m browser

.PHONY: bench-history
bench-history: setup ## decoding beside kafka-dump-log, Spark on one core and on two
	@$(TESTBED) kafka-jars $(KAFKA_VERSION) > /dev/null
	$(PYTEST) $(HISTORY) -m bench -s -p no:randomly

.PHONY: schemas
schemas: setup ## generate the facts about metadata records from the jars of every Kafka release
	$(VENV)/python -m tests.kraftlog.export_schemas

.PHONY: tables
tables: setup ## generate docs/tables.md from the catalogue of the tables
	PYTHONPATH=operator $(VENV)/python -m quorum_history.catalogue > docs/tables.md.new
	mv docs/tables.md.new docs/tables.md

.PHONY: dashboards
dashboards: setup ## write the chart's dashboards from helm/dashboards
	$(VENV)/python -m helm.dashboards

.PHONY: metrics-page
metrics-page: setup ## write the tables of docs/metrics.md from the catalogue of the metrics
	PYTHONPATH=operator $(VENV)/python -m kafka_quorum.metrics.page

.PHONY: sentences
sentences: setup ## write every sentence that users read into tests/golden/sentences.txt, from the source
	PYTHONPATH=operator:. $(VENV)/python -m tests.golden.sentences

# In this order, so that what is cheap fails first; make stops at the first part that fails, and the last line of a
# good run is the last part's own. The test-bed is built beside the history's tests: it mostly waits.
.PHONY: test
test: ## everything but the full end-to-end run, soak and bench; under an hour from nothing
	@$(MAKE) test-fast
	@$(MAKE) test-simulation
	@$(MAKE) test-live
	@$(MAKE) -j2 test-history testbed
	@$(MAKE) test-e2e

.PHONY: e2e
e2e: testbed prometheus ## all end-to-end scenarios; some need Kafka's older releases, the history's image or Spark's operator too
	@for version in $(OLDER_KAFKA_VERSIONS); do $(TESTBED) base-images --kafka $$version > /dev/null; done
	@$(TESTBED) load $(OLDER_KAFKA_VERSIONS:%=testbed/kafka:%)
	@$(TESTBED) history-image > /dev/null
	@$(TESTBED) spark-operator > /dev/null
	$(INSIDE) $(PYTEST) e2e/scenarios -m "not bench"

.PHONY: transcript
transcript: testbed ## docs/transcript-recovery.md, from a real recovery in the test-bed; three minutes after the cluster
	TRANSCRIPT=write $(INSIDE) $(PYTEST) e2e/scenarios/test_transcript.py

.PHONY: pictures
pictures: testbed prometheus ## docs/dashboard-*.png, from real quorums in the test-bed that get into trouble
	@$(TESTBED) page-browser > /dev/null
	PICTURES=write $(INSIDE) $(PYTEST) e2e/scenarios/test_dashboards.py

.PHONY: storm
storm: testbed ## two hours of random blows at a real quorum, checked throughout; MINUTES= and SEED= choose others
	PYTHONPATH=operator:e2e $(INSIDE) $(VENV)/python -m storm --minutes $(MINUTES) \
	  --seed $(if $(filter file,$(origin SEED)),0,$(SEED))

.PHONY: bench-fleet
bench-fleet: setup helm ## one operator with 10 to 1,000 quorums of simulated controllers; QUORUMS=10,100 chooses others
	@$(TESTBED) kwok-binary > /dev/null
	PYTHONPATH=operator:e2e unshare --net -- $(VENV)/python -m bench.fleet --counts $(QUORUMS)

.PHONY: bench
bench: testbed ## figures of one run, side by side
	$(INSIDE) $(PYTEST) e2e/bench -m bench -s -p no:randomly
