"""Equality with Kafka's own code, record for record, on logs with everything that a release can write."""

from pathlib import Path

import pytest
from tests.kraftlog import logs, oracle, synthetic
from tests.kraftlog.test_samples import assert_same

from kraftlog import Options, catalog, releases

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_BATCHES = 1500


@pytest.mark.parametrize("release", releases()[:-1])
def test_every_record_as_kafka_dump_log_prints_it(release: str, tmp_path: Path) -> None:
    """Each release's own tool agrees about each of its record types and versions, compressed batches included."""
    path = logs.write(tmp_path, synthetic.log(catalog(release), seed=17, count=_BATCHES))
    records, faults = logs.read(path, Options(release=release))
    assert not faults
    assert_same(records, oracle.dump_log(release, [path]))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_record_as_the_converters_of_the_newest_print_it(seed: int, tmp_path: Path) -> None:
    """Kafka 4.4's JSON converters agree, also about the record that no published tool supports."""
    path = logs.write(tmp_path, synthetic.log(catalog("4.4"), seed=seed, count=_BATCHES))
    records, faults = logs.read(path, Options(release="4.4"))
    assert not faults
    assert "UNREGISTER_CONTROLLER_RECORD" in {record["type"] for record in records}
    assert_same(records, oracle.converters([path]))
