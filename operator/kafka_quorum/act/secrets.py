"""Write the Secrets with certificates. Keys are made here and go into Secrets; no action, event or log has one.

Each write replaces exactly the Secret that the plan saw, or makes a new one. So an operator that is killed at any point
leaves either the Secret of before or a complete new one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from secrets import token_urlsafe
from typing import Final

from kafka_quorum.act.building import Context
from kafka_quorum.model import actions, names
from kafka_quorum.model.certified import subject
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.material import BROKERS, OPERATOR
from kafka_quorum.resources.certmanager import CERTIFICATES, certificate_object, is_filled_for, is_owned
from kafka_quorum.resources.secrets import (
    NO_LOGINS,
    Logins,
    StoredAuthorities,
    authorities_from,
    authorities_object,
    composed,
    leaf_from,
    leaf_object,
    sentence,
    source_of,
    use_of,
)
from kafka_quorum.resources.users import SOURCE_KEYS, broker_lines, given, new_passwords, users_from, users_object
from kit.errors import KubeConflict, KubeNotFound, KubeRefused
from kit.kube.protocol import Json, KubeApi
from kit.kube.secrets import SECRETS, Use, read_secret
from kit.parsing import Malformed
from kit.pki.authority import DICE, CannotIssue, Dice, Request, issue, make_authority
from kit.pki.leaf import Expected, Leaf, LeafFiles, read_leaf

_PASSWORD_BYTES: Final = 32
_AUTHORITY: Final = "authority"
_USERS: Final = "spec.security.controllers.usersSecretName"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Writes Secrets of one operator."""

    kube: KubeApi
    now: Callable[[], datetime]
    dice: Dice = DICE
    """What is random in a certificate."""

    async def write(self, action: actions.OnSecrets, context: Context) -> None:
        """Carry out this action."""
        match action:
            case actions.MakeAuthority():
                await self.make(action, context)
            case actions.PromoteAuthority():
                await self.promote(action, context)
            case actions.MakeUsers():
                await self.users(action, context)
            case actions.WithdrawAuthority():
                await self.withdraw(action, context)
            case actions.ComposeLeaf():
                await self.compose(action, context)
            case actions.RequestLeaf():
                await self.request(action, context)

    async def make(self, action: actions.MakeAuthority, context: Context) -> None:
        """A new authority; beside the present one if it follows it."""
        desired = context.desired
        made = make_authority(subject(desired, _AUTHORITY), self.now(), action.life_s, self.dice)
        if action.following:
            stored = await self._authorities(desired, action.name, action.version)
            due = replace(stored, following=made, asked_for=action.asked_for, asked_before=stored.asked_for)
        else:
            due = StoredAuthorities(
                present=made, following=None, asked_for=action.asked_for, asked_before="", version=action.version
            )
        await self._write(authorities_object(desired, action.name, due))

    async def promote(self, action: actions.PromoteAuthority, context: Context) -> None:
        """The authority that follows is the only one from here on."""
        desired = context.desired
        stored = await self._authorities(desired, action.name, action.version)
        if stored.following is None or stored.following.certificate.fingerprint != action.sha256:
            raise _changed(action.name)
        due = replace(stored, present=stored.following, following=None)
        await self._write(authorities_object(desired, action.name, due))

    async def withdraw(self, action: actions.WithdrawAuthority, context: Context) -> None:
        """The present authority stays: the one that follows is not wanted any more."""
        desired = context.desired
        stored = await self._authorities(desired, action.name, action.version)
        if stored.following is None or stored.following.certificate.fingerprint != action.sha256:
            raise _changed(action.name)
        due = replace(stored, following=None, asked_for=stored.asked_before)
        await self._write(authorities_object(desired, action.name, due))

    async def users(self, action: actions.MakeUsers, context: Context) -> None:
        """The users of these listeners. Those that exist keep their passwords."""
        desired, name = context.desired, action.name
        try:
            if action.version:
                item = await self.kube.get(SECRETS, desired.namespace, name)
                if item is None or item["metadata"]["resourceVersion"] != action.version:
                    raise _changed(name)
                _, passwords = users_from(item, desired.name)
            elif action.source:
                use = _use(desired, _USERS)
                texts = await read_secret(self.kube, desired.namespace, action.source, use, SOURCE_KEYS.values())
                passwords = given(texts, action.source)
            else:
                passwords = new_passwords(lambda: token_urlsafe(_PASSWORD_BYTES))
        except Malformed as error:
            raise _refused(str(error)) from None
        await self._write(users_object(desired, passwords, action.listeners, action.version))

    async def _logins(self, listeners: tuple[str, ...], desired: Desired) -> Logins:
        """How brokers log in at these listeners."""
        if not listeners:
            return NO_LOGINS
        name = names.users_name(desired.name)
        item = await self.kube.get(SECRETS, desired.namespace, name)
        if item is None:
            raise _changed(name)
        _, passwords = users_from(item, desired.name)
        return Logins(listeners=listeners, lines=broker_lines(passwords, listeners))

    async def compose(self, action: actions.ComposeLeaf, context: Context) -> None:
        """A new leaf of this holder, or that of a source."""
        desired, before = context.desired, None
        if action.before is not None:
            before = await self.kube.get(SECRETS, desired.namespace, action.name)
            if before is None or before["metadata"]["resourceVersion"] != action.before.version:
                raise _changed(action.name)
        leaf = await self._leaf(action, desired, before)
        try:
            found = await self._logins(action.listeners, desired)
            logins = replace(found, also=action.also, keeps=action.keeps, trusts=action.trusts, kept=action.keeps_login)
            ends = action.before_ends_s
            body = leaf_object(desired, action.holder, leaf, action.trust, action.generation, before, ends, logins)
        except Malformed as error:
            raise _refused(str(error)) from None
        await self._write(composed(body, int(self.now().timestamp())) if action.source else body)

    async def request(self, action: actions.RequestLeaf, context: Context) -> None:
        """Ask cert-manager. A Certificate of others is left alone, and so is a Secret that it would replace."""
        desired = context.desired
        body = certificate_object(desired, action.holder, action.pools)
        present = await self.kube.get(CERTIFICATES, desired.namespace, action.name)
        if present is not None and not is_owned(present, desired, action.holder):
            raise _refused(f"Did not change Certificate {action.name}: it is not this quorum's")
        secret = await self.kube.get(SECRETS, desired.namespace, action.name) if present is None else None
        if secret is not None and not is_filled_for(secret, action.name, desired):
            raise _refused(f"Did not ask cert-manager: Secret {action.name} exists, and it would be replaced")
        try:
            await self.kube.apply(CERTIFICATES, desired.namespace, body)
        except KubeNotFound:
            raise _refused(f"the API server has no {CERTIFICATES.api_version}: install cert-manager") from None

    async def _leaf(self, action: actions.ComposeLeaf, desired: Desired, before: Json | None) -> Leaf:
        """A new leaf, that of another issuer, or the present one again beside other files."""
        if not action.source:
            return await self._issued(action, desired)
        if action.source != action.name:
            return await self._copied(action, desired)
        if before is None:
            raise _changed(action.name)
        try:
            seen, leaf = leaf_from(before, desired, action.holder)
        except Malformed as error:
            raise _refused(str(error)) from None
        if seen.digest != action.source_sha256:
            raise _changed(action.name)
        return leaf

    async def _issued(self, action: actions.ComposeLeaf, desired: Desired) -> Leaf:
        stored = await self._authorities(desired, names.authority_name(desired.name), "")
        signer = stored.signer(action.authority)
        if signer is None:
            raise _changed(names.authority_name(desired.name))
        server = action.holder not in {OPERATOR, BROKERS}
        request = Request(
            subject=subject(desired, action.holder.role),
            names=action.dns_names,
            life_s=action.life_s,
            server=server,
            client=True,
        )
        try:
            return issue(signer, request, self.now(), self.dice)
        except CannotIssue as error:
            raise _refused(f"no certificate can be issued for {action.holder}: {error}") from None

    async def _copied(self, action: actions.ComposeLeaf, desired: Desired) -> Leaf:
        """The leaf of somebody else's Secret, if it is still the one that the plan judged."""
        use = use_of(desired, action.holder)
        try:
            texts = await read_secret(self.kube, desired.namespace, action.source, use, ("tls.crt", "tls.key"))
        except Malformed as error:
            raise _refused(str(error)) from None
        files = LeafFiles(
            owner=f"Secret {action.source}", tls_crt=texts.get("tls.crt", ""), tls_key=texts.get("tls.key", "")
        )
        leaf = read_leaf(files, Expected(now=self.now(), names=action.dns_names))
        if not isinstance(leaf, Leaf):
            raise _refused(sentence(leaf))
        if source_of(action.source, leaf).digest != action.source_sha256:
            raise _changed(action.source)
        return leaf

    async def _authorities(self, desired: Desired, name: str, version: str) -> StoredAuthorities:
        item = await self.kube.get(SECRETS, desired.namespace, name)
        if item is None or (version and item["metadata"]["resourceVersion"] != version):
            raise _changed(name)
        try:
            return authorities_from(item, desired)
        except Malformed as error:
            raise _refused(str(error)) from None

    async def _write(self, body: Json) -> None:
        metadata = body["metadata"]
        write = self.kube.replace if metadata.get("resourceVersion") else self.kube.create
        await write(SECRETS, metadata["namespace"], body)


def _use(desired: Desired, where: str) -> Use:
    return Use(reader=names.reader(desired.name), where=where, annotation=names.USED_BY)


def _changed(name: str) -> KubeConflict:
    return KubeConflict(f"Secret {name} is not the one that was read")


def _refused(words: str) -> KubeRefused:
    return KubeRefused(words)
