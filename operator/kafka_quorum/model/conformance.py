"""Whether brokers have what the contract requires, by their running settings. Unknown is a no, with its reason."""

from typing import Final

from kafka_quorum.model.contract import Match, Setting
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.registered import ASKING, BrokerSeen, Settings
from kafka_quorum.model.situation import Situation

PROTOCOL_MAP: Final = "listener.security.protocol.map"
_DEFAULT_MAP: Final = frozenset(
    {"PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL"}
)
_VALUE_MAX: Final = 80
"""How long a value in a sentence may be."""
_SHOWN_MAX: Final = 3
"""How many brokers a sentence names."""


def differs(setting: Setting, running: Settings) -> str:  # noqa: PLR0911 - one answer for each way to match
    """In what a broker's running settings differ from one setting of the contract; empty if they do not."""
    if setting.key not in running and setting.match is not Match.UNSET:
        return f"{setting.key} is not among its settings"
    value = running.get(setting.key)
    has, wanted = _elements(value), _elements(setting.value)
    match setting.match:
        case Match.EQUALS:
            due = setting.value if len(setting.value) <= _VALUE_MAX else "that of the contract"
            return "" if value == setting.value else f"{setting.key} is not {due}"
        case Match.ONE_OF:
            return "" if value in wanted else f"{setting.key} is none of {setting.value}"
        case Match.SOME:
            return "" if has & wanted else f"{setting.key} has none of {setting.value}"
        case Match.HAS:
            if (
                setting.key == PROTOCOL_MAP
                and has == _DEFAULT_MAP
                and all(one.endswith(":PLAINTEXT") for one in wanted)
            ):
                return ""  # not set: Kafka then uses PLAINTEXT for the controllers' listener
            missing = ",".join(sorted(wanted - has))
            return f"{setting.key} lacks {missing}" if missing else ""
        case Match.FILE:
            found = (value or "").rpartition("/")[2]
            return "" if found == setting.value else f"{setting.key} is no file {setting.value}"
        case Match.UNSET:
            return f"{setting.key} is still set" if value else ""


def conforms(situation: Situation, broker: BrokerSeen) -> tuple[bool | None, str]:
    """Whether a broker follows the stored contract, and why it does not; None if that is unknown, with the reason."""
    return conforms_to(situation.observed, broker)


def conforms_to(observed: Observed, broker: BrokerSeen) -> tuple[bool | None, str]:
    """The same, for a quorum that may have no record yet."""
    stored = observed.contract
    if isinstance(stored, Unknown) or stored.value is None:
        return None, "the broker contract is not published yet"
    if isinstance(broker.settings, Unknown):
        return None, broker.settings.reason
    running = broker.settings.value
    wrong = [text for setting in stored.value.contract.settings if (text := differs(setting, running))]
    return not wrong, "; ".join(wrong)


def is_confirmed(situation: Situation) -> bool:
    """Whether a person confirmed the present revision of the contract for brokers that cannot be asked."""
    return is_confirmed_by(situation.desired, situation.observed)


def is_confirmed_by(desired: Desired, observed: Observed) -> bool:
    """The same, for a quorum that may have no record yet."""
    stored = observed.contract
    present = None if isinstance(stored, Unknown) or stored.value is None else stored.value.contract.revision
    return present is not None and desired.broker_access.confirmed_revision == present


def why_brokers_hold(situation: Situation) -> str:
    """Which registered brokers do not follow the contract, with the way out; empty if all do, or there is none.

    A confirmation counts for brokers that cannot be asked, never for one that reports another setting.
    """
    brokers, confirmed = situation.observed.brokers, is_confirmed(situation)
    if isinstance(brokers, Unknown):
        return "" if confirmed else f"it is not known which brokers are registered ({brokers.reason}). {_WAY_OUT}"
    found = [(broker.node_id, *conforms(situation, broker)) for broker in brokers.value]
    held = [(id_, why) for id_, well, why in found if well is False or (well is None and not confirmed)]
    if not held:
        return ""
    told = "; ".join(f"broker {id_}: {why}" for id_, why in held[:_SHOWN_MAX])
    more = f" (and {len(held) - _SHOWN_MAX} more brokers)" if len(held) > _SHOWN_MAX else ""
    return f"every broker must have what ConfigMap {situation.desired.name}-brokers says. {told}{more}. {_WAY_OUT}"


def are_being_asked(situation: Situation) -> bool:
    """Whether brokers hold something only because the answer to a question that was asked is not there yet."""
    brokers = situation.observed.brokers
    if isinstance(brokers, Unknown):
        return brokers.reason in ASKING
    reasons = [one.settings.reason for one in brokers.value if isinstance(one.settings, Unknown)]
    told = all(conforms(situation, one)[0] is not False for one in brokers.value)
    return told and bool(reasons) and set(reasons) <= ASKING


_WAY_OUT: Final = (
    "Change the brokers, set spec.brokerAccess.bootstrapServers, or confirm the contract's revision in "
    "spec.brokerAccess.confirmedRevision (docs/brokers.md)"
)


def newer_brokers(situation: Situation, level: int) -> tuple[str, ...]:
    """The registered brokers that are known to support a higher metadata.version than this: of a later release."""
    brokers = situation.observed.brokers
    seen = brokers.value if isinstance(brokers, Known) else ()
    return tuple(str(one.node_id) for one in seen if one.metadata_max is not None and one.metadata_max > level)


def older_brokers(situation: Situation, level: int) -> tuple[str, ...]:
    """The registered brokers that are known to support no metadata.version up to this one: of an earlier release."""
    brokers = situation.observed.brokers
    seen = brokers.value if isinstance(brokers, Known) else ()
    return tuple(str(one.node_id) for one in seen if one.metadata_max is not None and one.metadata_max < level)


def _elements(value: str | None) -> frozenset[str]:
    return frozenset(part.strip() for part in (value or "").split(",") if part.strip())
