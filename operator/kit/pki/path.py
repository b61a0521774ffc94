"""Whether a chain leads to a trusted authority without extended key usages, of which Java asks no authority.

Judged are path lengths, name constraints and critical extensions that are unknown. Ends and names are judged elsewhere.
"""

from collections.abc import Iterator
from typing import Final

from cryptography import x509
from cryptography.x509 import verification
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store

from kit.pki.bundle import Bundle, bundle
from kit.pki.certificate import OURS, Certificate
from kit.pki.leaf import CHAIN_MAX, Leaf

_LEAFS: Final = ExtensionPolicy.permit_all()
_AUTHORITIES: Final = _LEAFS.require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
_NO_AUTHORITY: Final = "no trusted authority issued it"
_KINDS: Final = "its authorities have name constraints of other kinds than DNS names"


def why_no_path(leaf: Leaf, trusted: Bundle) -> str:
    """Why no authority of this bundle vouches for the leaf; empty if one does."""
    words = _NO_AUTHORITY
    for each in trusted.authorities:
        if bundle((each,)).trusts(leaf.chain):
            words = _why_not(leaf.chain, each)
            if not words:
                return ""
    return words


def _why_not(chain: tuple[Certificate, ...], authority: Certificate) -> str:
    """The time is one at which all of them are valid, if there is one: the last beginning."""
    own, *above = (x509.load_der_x509_certificate(each.der) for each in chain)
    anchor = x509.load_der_x509_certificate(authority.der)
    time = max(each.not_before for each in (*chain, authority))
    try:
        if any(not isinstance(name, x509.DNSName) for each in (*above, anchor) for name in _constraints(each)):
            return _KINDS  # the library does not judge all of them
        policy = PolicyBuilder().store(Store([anchor])).time(time).max_chain_depth(CHAIN_MAX)
        policy = policy.extension_policies(ca_policy=_AUTHORITIES, ee_policy=_LEAFS)
        policy.build_client_verifier().verify(own, above)
    except verification.VerificationError as error:
        return str(error).rsplit(": ", 1)[-1]
    except OURS:
        return "it cannot be judged"
    return ""


def _constraints(authority: x509.Certificate) -> Iterator[x509.GeneralName]:
    try:
        found = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return
    yield from found.permitted_subtrees or ()
    yield from found.excluded_subtrees or ()
