# The operator's image. One file for both worlds:
#   with a network:    docker build -t kafka-quorum-operator .
#   without:           python3 e2e/testbed operator-image   (wheels in the build context, BASE made from Debian packages)
# The installed packages are those of requirements.lock, checked by hash either way. The base is named by its digest: the
# index (amd64, arm64 and others) of Python 3.11.16 on Debian 12, as the record of Docker's official images has it
# (docker-library/repo-info, repos/python/remote/3.11-slim-bookworm.md). A newer one: `--build-arg BASE=NAME@sha256:…`.
ARG BASE=python:3.11-slim-bookworm@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b

FROM ${BASE} AS packages
# `wheels*` may match nothing: a COPY is valid as long as one of its sources is there.
COPY requirements.lock wheels* /wheels/
RUN if ls /wheels/*.whl > /dev/null 2>&1; then offline="--no-index --find-links /wheels"; fi; \
    python -m pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes --target /packages \
      $offline -r /wheels/requirements.lock \
 && find /packages -type d -name tests -prune -exec rm -r {} +
COPY operator/kafka_brokers /packages/kafka_brokers
COPY operator/kafka_quorum /packages/kafka_quorum
COPY operator/kafka_streams /packages/kafka_streams
COPY operator/kit /packages/kit
# The pods of a recovery read and rewrite disks with it; the operator itself does not load it.
COPY operator/kraftlog /packages/kraftlog
# The Prometheus JMX agent, which controllers load for metrics: from the build context, or from
# Maven Central; the same file either way. It has no licence in it: its own is Apache-2.0, that of a part BSD-3-Clause.
ARG AGENT_VERSION=1.0.1
ARG AGENT_SHA256=7d61f737fd661610ccc14aea79764faa1ea94a340cbc8f0029b3d2edea3d80c1
ARG AGENT_REPOSITORY=https://repo1.maven.org/maven2
COPY LICENSE LICENSE.agent jmx-agent* /agent/
RUN cd /agent && jar=jmx_prometheus_javaagent.jar \
 && { [ -f "$jar" ] || python -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
      "$AGENT_REPOSITORY/io/prometheus/jmx/jmx_prometheus_javaagent/$AGENT_VERSION/jmx_prometheus_javaagent-$AGENT_VERSION.jar" \
      "$jar"; } \
 && echo "$AGENT_SHA256  $jar" | sha256sum -c - && chmod 444 "$jar"
COPY LICENSE licenses.py /licenses/
# Every package brings its licence, or the build fails.
RUN python /licenses/licenses.py /packages /licenses/LICENSE
RUN python -m compileall -q /packages/kafka_brokers /packages/kafka_quorum /packages/kafka_streams /packages/kit \
    /packages/kraftlog

FROM ${BASE}
COPY --from=packages /packages /opt/operator
COPY --from=packages /agent /opt/agent
# PYTHONSAFEPATH: `-m` would otherwise put the working directory, which is writable, before everything else.
ENV PYTHONPATH=/opt/operator PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# Numeric, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "kafka_quorum"]
