"""Mutants of certificates: each condition of rule 13, of a renewal, and of the roll that follows it."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

_RENEWED: Final = ("tls-renewed-once",)

CERTIFICATE_MUTANTS: Final = (
    mutant(
        "restarts-without-a-secret",
        "5",
        ("tls-altered-secret-in-a-roll",),
        (
            "_but_for_the_token",
            "bool(secret := _why_secret(situation, node))",
            "bool(secret := '')",
        ),
    ),
    mutant(
        "certificates-are-never-renewed",
        "13, ended",
        _RENEWED,
        ("_why_renewed", "ends and gains", "False"),
    ),
    mutant(
        "listeners-are-never-asked",
        "13, late",
        _RENEWED,
        ("certificates", "*reloads(situation, material)", "*()"),
    ),
    mutant(
        "listeners-are-asked-once",
        "13, late",
        _RENEWED,
        ("_pause_s", "if shown is None or not right:\n    return SOON_S", "if not right:\n    return 1e9"),
    ),
    mutant(
        "clients-never-get-renewed-certificates",
        "13, ended",
        _RENEWED,
        (
            "generation_due",
            "reached if due else present",
            "present",
        ),
    ),
    mutant(
        "clients-get-renewed-certificates-too-late",
        "13, ended",
        _RENEWED,
        (
            "_roll_at_s",
            "desired.trust.renewal_s(leaf.before_ends_s, leaf.certificate.life_s, 1 / 2)",
            "leaf.before_ends_s",
        ),
    ),
    mutant(
        "a-lost-certificate-is-of-the-present-generation",
        "13, ended",
        ("tls-lost-leafs-late", "tls-lost-leaf"),
        (
            "wanted_generation",
            "holder in ready",
            "False",
        ),
    ),
    mutant(
        "generations-begin-again",
        "13, ended",
        ("tls-lost-leafs-late",),
        (
            "newest",
            "(made, *(leaf.generation for leaf in material.leading_leafs(made)))",
            "(0, *(leaf.generation for leaf in material.leading_leafs(made)))",
        ),
        (
            "wanted_generation",
            "holder in ready",
            "False",
        ),
    ),
    mutant(
        "restarts-at-once-after-a-loss",
        "13, ended",
        ("tls-mounted-late",),
        ("_roll_at_s", "max(middle_s, written_s(leaf, now_s) + MOUNTED_AFTER_S)", "middle_s"),
        ("why_earlier_leaf", "is_mounted(leaf, situation.now_s)", "True"),
    ),
    mutant(
        "no-way-out-when-certificates-have-ended",
        "live",
        ("tls-operator-away",),
        ("has_ended", "served or ...", "False"),
    ),
    mutant(
        "an-ended-certificate-that-is-served-is-not-noticed",
        "live",
        ("tls-operator-away-and-leafs-lost",),
        ("has_ended", "pod.instance in served_ended(situation.observed, material, pod.node_id)", "False"),
    ),
    mutant(
        "an-ended-certificate-of-a-client-is-not-noticed",
        "13, ended",
        ("tls-operator-away-before-the-roll",),
        ("has_ended", "served or ...", "served"),
    ),
    mutant(
        "restarts-without-a-leader",
        "3",
        ("tls-roll-without-a-leader",),
        ("_where_certificates_ended", "not has_ended(situation, pod)", "False"),
    ),
    mutant(
        "all-restart-when-certificates-have-ended",
        "5",
        ("tls-operator-away",),
        ("_where_certificates_ended", "bool(away)", "False"),
    ),
    mutant(
        "a-lost-authority-is-replaced",
        "live",
        ("tls-lost-authority",),
        ("may_show_leaf", "bool(blind)", "False"),
        ("_signer", "known or must_sign(situation, material, found.sha256)", "True"),
    ),
    mutant(
        "foreign-secrets-are-ours",
        "13, others",
        ("tls-relabelled-secret",),
        ("texts_of", "present.get(LABEL_QUORUM) != quorum or foreign_controller(item) is not None", "False"),
    ),
    mutant(
        "keys-in-looks",
        "13, secret",
        ("tls-3",),
        ("leaf_from", "frozenset(texts)", "frozenset(texts.values())"),
    ),
    mutant(
        "keys-in-events",
        "13, secret",
        ("tls-3",),
        (
            "Secrets._issued",
            "return issue(signer, request, self.now(), self.dice)",
            "raise _refused(issue(signer, request, self.now(), self.dice).key.pem)",
        ),
    ),
    mutant(
        "wrong-names",
        "13",
        ("tls-3",),
        (
            "dns_names",
            "host_name(desired.namespace, desired.member(NodeID(holder.node_id)))",
            "host_name(desired.namespace, desired.member(NodeID(0)))",
        ),
    ),
    mutant(
        "given-certificates-are-not-followed",
        "13, ended",
        ("given-renewed",),
        ("_why_replaced", "leaf.digest == source.digest", "True"),
    ),
    mutant(
        "a-refused-source-stops-the-others",
        "13, ended",
        ("given-one-stays-bad",),
        ("_copied", "before is not None", "False"),
    ),
    mutant(
        "a-second-renewal-hides-the-first",
        "13, ended",
        ("tls-renewal",),
        (
            "shown_until_s",
            "seen.ends_s if shows_it else seen.before_ends_s",
            "seen.ends_s",
        ),
    ),
    mutant(
        "the-new-authority-signs-too-early",
        "7, migration",
        ("authority-changed",),
        ("may_trust_new", "_after_handshakes(situation, first, '...', _accepts)", "unless((), first)"),
    ),
    mutant(
        "listeners-are-not-asked-whom-they-accept",
        "13",
        ("authority-changed",),
        ("may_trust_new", "_after_handshakes(situation, first, '...', _accepts)", "unless((), first)"),
        ("may_show_leaf", "bool(blind)", "False"),
    ),
    mutant(
        "the-earlier-authority-is-dropped-too-early",
        "7, migration",
        ("authority-changed",),
        ("may_drop_old", "bool(other)", "False"),
        ("may_drop_old", "older", "False"),
        ("may_drop_old", "bool(why := _why_not_everywhere(situation))", "bool(why := '')"),
        ("may_drop_old", "bool(unproven)", "False"),
    ),
    mutant(
        "leafs-that-the-next-revision-does-not-trust",
        "live",
        ("authority-restored-before-the-roll",),
        ("trusting_runtimes", "coming.encrypted and coming.trust", "False"),
    ),
    mutant(
        "a-change-of-authorities-ends-too-early",
        "7, migration",
        ("authority-changed",),
        ("may_end_change", "_after_handshakes(situation, first, '...', _refuses)", "unless((), first)"),
    ),
    mutant(
        "a-listener-loads-a-leaf-that-is-not-trusted",
        "13",
        ("tls-untrusted-leaf",),
        ("may_reload", "bool(blind)", "False"),
    ),
    mutant(
        "an-older-leader-is-asked-for-what-it-refuses",
        "13, refused",
        ("tls-renewed-by-an-older-release",),
        ("may_reload", "bool(old)", "False"),
    ),
    mutant(
        "a-listener-loads-what-its-pod-still-has",
        "13",
        ("tls-untrusted-leafs-mounted", "tls-untrusted-leafs-lost"),
        ("may_reload", "may_lack(leaf, situation.now_s)", "False"),
    ),
    mutant(
        "a-foreign-leaf-says-when-the-one-before-ends",
        "13",
        ("tls-untrusted-leafs-mounted",),
        ("shown_until_s", "not seen.authority", "False"),
        ("_is_foreign", "not has_authority(made.trust, leaf.authority)", "False"),
    ),
    mutant(
        "a-change-of-authorities-turns-without-the-new-one",
        "13",
        ("authority-back-when-all-show-it",),
        ("_turned", "together(trust.before, trust.after)", "trust.before"),
    ),
    mutant(
        "an-invalid-spec-stops-the-restarts-for-certificates",
        "13, ended",
        ("tls-renewed-while-invalid",),
        ("revisions", "situation.repair_only and not _renews(situation)", "situation.repair_only"),
    ),
    mutant(
        "leafs-are-renewed-again-and-again-at-the-end-of-their-authority",
        "13, ended",
        ("tls-authority-ends",),
        ("_why_renewed", "longer_s > 0 and longer_s >= (shown.not_after_s - now_s) * _LONGER", "True"),
    ),
    mutant(
        "a-lost-secret-begins-a-generation-at-each-look",
        "13, again",
        ("tls-secret-refused-for-long",),
        (
            "due_for_lost",
            "max(max(known, default=0) + 1, newest(material, observed, record))",
            "newest(material, observed, record) + 1",
        ),
    ),
    mutant(
        "one-secret-holds-every-restart",
        "13, ended",
        ("tls-secret-of-brokers-relabelled", "tls-secret-refused-in-a-renewal"),
        (
            "generation_due",
            "max((leaf.generation for leaf in _leafs(material, controllers)), default=0)",
            "_complete(material, [*controllers, OPERATOR, BROKERS])",
        ),
    ),
    mutant(
        "a-renewal-is-weighed-against-the-lives-of-the-spec",
        "13, ended",
        ("tls-lives-made-longer", "tls-renewed-shortly-before-the-authority-ends"),
        (
            "_why_renewed",
            "longer_s > 0 and longer_s >= (shown.not_after_s - now_s) * _LONGER",
            "longer_s >= policy.leaf_s * _LONGER",
        ),
    ),
    mutant(
        "one-that-does-not-run-counts-as-renewed",
        "live",
        ("tls-held-controllers-restart",),
        ("_where_nothing_runs", "why_leaf_of_before(situation, node)", "''"),
    ),
    mutant(
        "the-active-one-waits-for-none-that-its-secret-holds",
        "5",
        ("tls-relabelled-secrets-in-a-roll",),
        ("_but_for_the_token", "not (ends and _is_kept(situation, other))", "not _is_kept(situation, other)"),
    ),
    mutant(
        "a-restart-does-not-wait-for-what-its-pod-mounts",
        "13, ended",
        ("tls-secret-given-back-after-its-end",),
        ("why_earlier_leaf", "is_mounted(leaf, situation.now_s)", "True"),
    ),
    mutant(
        "all-follow-the-number-of-one-pool",
        "13, ended",
        ("renewal-with-a-pool-whose-number-grows",),
        ("Material.leading_leafs", "holder.role != BROKERS.role", "True"),
        ("wanted_generation", "situation.now_s < until_s", "False"),
    ),
    mutant(
        "one-pool-asks-for-generations-without-a-pause",
        "13, ended",
        ("given-with-a-pool-that-alternates",),
        ("wanted_generation", "situation.now_s < until_s", "False"),
    ),
    mutant(
        "one-pool-asks-for-generations-while-authorities-change",
        "live",
        ("given-other-authority-with-a-pool-that-alternates",),
        ("wanted_generation", "not has_authority(change.after, leaf.authority)", "True"),
    ),
    mutant(
        "given-certificates-wait-for-longer-than-they-can",
        "13, ended",
        ("given-renewed-one-after-another",),
        ("pauses_until_s", "min(until_s, roll_s)", "until_s"),
    ),
    mutant(
        "a-pool-waits-until-its-certificate-has-ended",
        "13, ended",
        ("given-with-a-pool-whose-certificates-end-within-the-pause",),
        ("_of_brokers_until_s", "isinstance(source, Unknown)", "True"),
    ),
    mutant(
        "certificates-of-a-pool-that-end-soon-shorten-every-pause",
        "13, again",
        ("given-with-a-pool-that-alternates-certificates-that-end-soon",),
        ("_of_brokers_until_s", "lasts_s >= pause_s * _LASTS", "True"),
    ),
    mutant(
        "a-stuck-controller-stays-where-it-is",
        "13, ended",
        ("tls-stuck-controller-with-a-held-secret",),
        ("_back", "why_leaf_of_before(situation, node)", "''"),
    ),
)
