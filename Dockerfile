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
COPY operator/kit /packages/kit
COPY LICENSE licenses.py /licenses/
# Every package brings its licence, or the build fails.
RUN python /licenses/licenses.py /packages /licenses/LICENSE
RUN python -m compileall -q /packages/kafka_brokers /packages/kafka_quorum /packages/kit

FROM ${BASE}
COPY --from=packages /packages /opt/operator
# PYTHONSAFEPATH: `-m` would otherwise put the working directory, which is writable, before everything else.
ENV PYTHONPATH=/opt/operator PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# Numeric, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "kafka_quorum"]
