"""Whether the authority that follows is already trusted alone, though the record may not say so any more."""

from collections.abc import Iterator

from kafka_quorum.model.bundles import has_authority
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import OwnAuthorities
from kafka_quorum.model.names import trust_file
from kafka_quorum.model.situation import Situation

_TRUSTSTORE = ".truststore.location"


def is_trusted_alone(situation: Situation, own: OwnAuthorities) -> bool:
    """Whether a server trusts the authority that follows, and not the present one. Then the present one cannot sign.

    In the last stage of their change the record says this. If it was lost there, it is rebuilt without the stage: the
    revisions, the broker contract and the brokers themselves still show it.
    """
    present, following = own.present, own.following
    if present is None or following is None:
        return False
    made = any(
        has_authority(one.runtime.trust, following.sha256) and not has_authority(one.runtime.trust, present.sha256)
        for one in situation.observed.revisions
    )
    file = trust_file(following.pem)
    return made or any(path.rsplit("/", 1)[-1] == file for path in _trusted_by_brokers(situation))


def _trusted_by_brokers(situation: Situation) -> Iterator[str]:
    """The files of what brokers trust: of the published contract, and of each broker that answered."""
    contract, brokers = situation.observed.contract, situation.observed.brokers
    if isinstance(contract, Known) and contract.value is not None:
        yield from (one.value for one in contract.value.contract.settings if one.key.endswith(_TRUSTSTORE))
    for broker in brokers.value if isinstance(brokers, Known) else ():
        if isinstance(broker.settings, Known):
            yield from (value or "" for key, value in broker.settings.value.items() if key.endswith(_TRUSTSTORE))
