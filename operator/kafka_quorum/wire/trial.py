"""A trial: a handshake in memory, in which OpenSSL judges a chain by a bundle. Nothing is sent, and no name is asked.

It finds what the other checks do not read: path lengths, name constraints, critical extensions that are unknown, usages
of authorities. Ends are not judged here, because the time is an argument elsewhere.
"""

import ssl
from contextlib import suppress
from typing import Final

from kafka_quorum.wire.tls import in_memory
from kit.pki.bundle import Bundle
from kit.pki.leaf import Leaf
from kit.pki.path import why_no_path
from kit.text import clean

_NO_TIMES: Final = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python has no name for."""
_PURPOSE: Final = 26
"""OpenSSL's X509_V_ERR_INVALID_PURPOSE."""
_TURNS: Final = 8
"""More than the flights of any handshake."""
_WORDS: Final = 80


def why_refused(leaf: Leaf, trusted: Bundle, *, server: bool, client: bool) -> str:
    """Why a peer that trusts this bundle refuses the leaf as a server's, or as a client's; empty if it does not.

    The words are OpenSSL's. Servers are written in Java, which does not ask for the extended usages of a client's
    authorities: nor is a client refused for them here. OpenSSL ends at the first fault, so what a usage may hide is
    judged without it. What cannot be tried is not refused.
    """
    try:
        with in_memory(leaf.key.pem + leaf.chain_pem) as path:
            ours, theirs = _client(path, trusted, judges=server), _server(path, trusted, judges=client)
        if not _shake(ours, theirs) and not server:
            return clean(why_no_path(leaf, trusted), max_chars=_WORDS)
    except ssl.SSLCertVerificationError as error:
        return clean(error.verify_message, max_chars=_WORDS)
    except ssl.SSLError as error:
        return clean(str(error.reason or error), max_chars=_WORDS)
    except OSError:  # no descriptor is left
        return ""
    return ""


def _client(path: str, trusted: Bundle, *, judges: bool) -> ssl.SSLContext:
    """As the operator is one: `create_default_context` has the flags of this version of Python."""
    context = ssl.create_default_context(cadata=trusted.pem)
    context.check_hostname = False
    return _loaded(context, path, judges=judges)


def _server(path: str, trusted: Bundle, *, judges: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_verify_locations(cadata=trusted.pem)
    context.num_tickets = 0
    return _loaded(context, path, judges=judges)


def _loaded(context: ssl.SSLContext, path: str, *, judges: bool) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED if judges else ssl.CERT_NONE
    context.verify_flags |= ssl.VerifyFlags(ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_TIMES)
    context.load_cert_chain(path)
    return context


def _shake(client: ssl.SSLContext, server: ssl.SSLContext) -> bool:
    """Whether no usage ended it. The client, who judges a server, is the first to judge: then all else was judged."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_TURNS):
        with suppress(ssl.SSLWantReadError):
            ours.do_handshake()
        try:
            theirs.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            if error.verify_code != _PURPOSE:
                raise
            return False
    return True
