# The operator's image. One file for both worlds:
#   with a network:    docker build -t kafka-quorum-operator .
#   without:           python3 e2e/testbed operator-image   (wheels in the build context, BASE made from Debian packages)
# The installed packages are those of requirements.lock, checked by hash either way.
ARG BASE=python:3.11-slim

FROM ${BASE} AS packages
# `wheels*` may match nothing: a COPY is valid as long as one of its sources is there.
COPY requirements.lock wheels* /wheels/
RUN if ls /wheels/*.whl > /dev/null 2>&1; then offline="--no-index --find-links /wheels"; fi; \
    python -m pip install --no-cache-dir --disable-pip-version-check --no-deps --require-hashes --target /packages \
      $offline -r /wheels/requirements.lock \
 && find /packages -type d -name tests -prune -exec rm -r {} +
COPY operator/kafka_quorum /packages/kafka_quorum
RUN python -m compileall -q /packages/kafka_quorum

FROM ${BASE}
COPY --from=packages /packages /opt/operator
# PYTHONSAFEPATH: `-m` would otherwise put the working directory, which is writable, before everything else.
ENV PYTHONPATH=/opt/operator PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# Numeric, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "kafka_quorum"]
