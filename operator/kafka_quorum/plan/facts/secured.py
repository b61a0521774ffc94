"""What brokers need to reach controllers that have TLS or SASL: files of a Secret that the quorum fills.

The names of the files show which authorities and which certificate a running broker has loaded. DescribeConfigs answers
with the path, so the operator sees it of each broker. A change of one of them is another file: a broker follows it with
a restart, because the side of a broker that connects to the controllers never reloads a file.
"""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.model.contract import SASL_MECHANISM, Match, Setting
from kafka_quorum.model.desired import ControllerListener, Protocol, Runtime
from kafka_quorum.model.names import brokers_tls_name, keystore_file, trust_file

_PEM: Final = "PEM"


def secured(listener: ControllerListener, runtime: Runtime) -> Iterator[Setting]:
    """The settings of a broker for a listener of the controllers; none for one without TLS."""
    if not listener.protocol.encrypted:
        return
    prefix = f"listener.name.{listener.name.lower()}.ssl"
    yield Setting(key=f"{prefix}.truststore.type", value=_PEM, match=Match.EQUALS)
    yield Setting(key=f"{prefix}.truststore.location", value=trust_file(runtime.trust), match=Match.FILE)
    if listener.protocol is Protocol.SASL_SSL:
        yield Setting(key=SASL_MECHANISM, value="PLAIN", match=Match.EQUALS)
        return
    yield Setting(key=f"{prefix}.keystore.type", value=_PEM, match=Match.EQUALS)
    yield Setting(key=f"{prefix}.keystore.location", value=keystore_file(runtime.certificates), match=Match.FILE)


def secrets_for(settings: tuple[Setting, ...], quorum: str) -> tuple[str, ...]:
    """The Secrets whose files these settings name."""
    return (brokers_tls_name(quorum),) if any(each.match is Match.FILE for each in settings) else ()
