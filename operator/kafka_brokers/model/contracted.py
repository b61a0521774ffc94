"""How a pool follows the quorum's contract: which settings its pods are made from, and which are a first contact only.

A first contact (`Match.SOME`), such as the bootstrap servers, is in the properties file too. A change of it restarts
no broker: the next pod of a broker gets the new one.

Files of the contract's Secret (`Match.FILE`) are paths in the properties file. Another file name restarts brokers, as
any other value does. What has a password is in no setting: the start script adds it.
"""

from dataclasses import replace
from typing import Final

from kafka_brokers.model.pool import BrokerRuntime, External
from kafka_quorum.model.contract import SASL_KEY, SASL_MECHANISM, SECRET_PATH, Contract, Match, Setting
from kafka_quorum.model.names import keystore_file, keystore_generation

_IN_SECRET: Final = f"{SECRET_PATH}/"
_KEYSTORE: Final = ".ssl.keystore.location"


def running_settings(contract: Contract) -> tuple[tuple[str, str], ...]:
    """The contract's settings that decide a restart, sorted by key."""
    present = (each for each in contract.settings if each.match not in (Match.SOME, Match.UNSET))
    return tuple(sorted((each.key, _written(each)) for each in present))


def _written(setting: Setting) -> str:
    """The value that goes into files: of several that are allowed, the first one; of a file, its path."""
    if setting.match is Match.FILE:
        return f"{_IN_SECRET}{setting.value}"
    return setting.value.split(",")[0].strip() if setting.match is Match.ONE_OF else setting.value


def first_contact(contract: Contract) -> tuple[tuple[str, str], ...]:
    """The contract's settings that are a first contact only, sorted by key."""
    return tuple(sorted((each.key, each.value) for each in contract.settings if each.match is Match.SOME))


def logs_in(runtime: BrokerRuntime) -> bool:
    """Whether a broker has a user at the controllers, whose lines are in the contract's Secret."""
    return bool(runtime.secrets) and dict(runtime.contract).get(SASL_MECHANISM) is not None


def secret_keys(runtime: BrokerRuntime) -> tuple[str, ...]:
    """The keys of the contract's Secret that a broker needs to start."""
    if not runtime.secrets:
        return ()
    files = (value.removeprefix(_IN_SECRET) for _, value in runtime.contract if value.startswith(_IN_SECRET))
    own = (keystore_file(runtime.certificates),) if runtime.certificates else ()
    return (*files, *own, *((SASL_KEY,) if logs_in(runtime) else ()))


def truststore(runtime: BrokerRuntime) -> str:
    """The path of the authorities that a broker's own listeners trust; empty if the contract names none."""
    return next((value for key, value in runtime.contract if key.endswith(".ssl.truststore.location")), "")


def keystore(runtime: BrokerRuntime) -> str:
    """The path of the key and the certificate that a broker's own listeners show; empty if there is none."""
    named = next((value for key, value in runtime.contract if key.endswith(_KEYSTORE)), "")
    if named or not runtime.certificates:
        return named
    return f"{_IN_SECRET}{keystore_file(runtime.certificates)}"


def certificate_of(runtime: BrokerRuntime) -> int:
    """The generation of the certificate that a broker of this runtime shows; 0 if it shows none."""
    return keystore_generation(keystore(runtime).rpartition("/")[2])


def but_for_the_certificate(runtime: BrokerRuntime) -> BrokerRuntime:
    """The same runtime without the generation of its certificate: equal if nothing else differs."""
    settings = tuple((key, "" if key.endswith(_KEYSTORE) else value) for key, value in runtime.contract)
    return replace(runtime, contract=settings, certificates=min(runtime.certificates, 1))


def gives_certificates(contract: Contract, secret: str) -> bool:
    """Whether brokers of a pool get certificates, so that their own listeners can have TLS.

    `secret` is the one that the pool's spec names: it counts if a person gives the certificates.
    """
    if contract.given and not secret:
        return False
    return bool(contract.secrets and contract.files and (contract.certificates or _names_keystore(contract)))


def _names_keystore(contract: Contract) -> bool:
    return any(each.match is Match.FILE and each.key.endswith(_KEYSTORE) for each in contract.settings)


def needs_late(runtime: BrokerRuntime) -> bool:
    """Whether a pod needs properties that are known only after it was scheduled: its rack, or external addresses."""
    return bool(runtime.rack_key) or any(each.external is not External.NONE for each in runtime.listeners)
