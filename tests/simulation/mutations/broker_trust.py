"""Mutants of changes of trust that only a run with brokers notices: what they are told, and who waits for them."""

from typing import Final

from tests.simulation.mutations.mutant import mutant, pool_mutant

BROKER_TRUST_MUTANTS: Final = (
    mutant(
        "brokers-are-told-of-a-listener-too-early",
        "13, brokers",
        ("to-tls-with-a-pool",),
        (
            "listener_of_brokers",
            "change.new if reached.present.brokers.listens is Listens.NEW else change.old",
            "change.new",
        ),
    ),
    mutant(
        "a-listener-is-dropped-that-a-broker-uses",
        "13, brokers",
        ("to-tls-with-a-pool-that-is-held",),
        ("may_prefer", "(*_not_steady(situation), *both, *_brokers(situation))", "(*_not_steady(situation), *both)"),
        (
            "may_drop_listener",
            "(*_not_steady(situation), *both, *_brokers(situation))",
            "(*_not_steady(situation), *both)",
        ),
    ),
    mutant(
        "the-new-authority-signs-before-brokers-trust-it",
        "13, brokers",
        ("authority-with-a-pool-that-is-held",),
        ("_why_not_everywhere", "why_brokers_hold(situation) or why_not_published(situation)", "''"),
    ),
    mutant(
        "an-authority-is-dropped-of-which-a-broker-shows-a-leaf",
        "13, brokers",
        ("authority-with-a-pool-that-is-held",),
        ("may_drop_old", "bool(why := _why_not_everywhere(situation))", "bool(why := '')"),
    ),
    mutant(
        "brokers-are-never-told-of-renewed-certificates",
        "13, ended",
        ("renewal-with-a-pool",),
        ("secured", "keystore_file(runtime.certificates)", "keystore_file(1)"),
    ),
    pool_mutant(
        "a-broker-is-waited-for-that-waits-for-one-whose-certificate-ended",
        "live",
        ("renewal-with-a-broker-that-comes-too-late",),
        ("may_stop", "len(batch) != 1 or batch[0] not in own", "True"),
    ),
    pool_mutant(
        "a-pool-keeps-the-token-while-it-waits-for-an-ended-broker-of-another",
        "live",
        ("renewal-with-two-pools-and-a-broker-that-comes-too-late",),
        ("_waits_in_vain", "waits_for_ended(situation.desired, situation.observed, broker, situation.now_s)", "False"),
    ),
    mutant(
        "controllers-do-not-ask-a-pool-for-the-token",
        "13, ended",
        ("renewal-while-a-broker-does-not-come-back",),
        ("due_turn", "_waits_for_token(situation, older)", "False"),
    ),
    pool_mutant(
        "a-pool-goes-on-with-its-roll-in-the-controllers-turn",
        "13, ended",
        ("renewal-while-a-pool-rolls-without-end",),
        ("may_stop", "why_controllers_first(observed, now_s)", "''"),
        ("given_back", "situation.now_s >= turn.last_s", "False"),
    ),
    pool_mutant(
        "a-pool-keeps-the-token-until-the-controllers-certificates-have-ended",
        "13, ended",
        ("renewal-while-a-broker-does-not-come-back",),
        ("given_back", "situation.now_s >= turn.last_s", "False"),
    ),
    pool_mutant(
        "a-pool-does-not-wait-for-its-broker-when-controllers-need-the-token",
        "11, together",
        ("renewal-while-a-broker-does-not-come-back",),
        ("given_back", "situation.now_s >= turn.last_s", "True"),
    ),
    pool_mutant(
        "ended-brokers-of-two-pools-wait-for-each-other",
        "live",
        ("renewal-with-two-pools-whose-brokers-end-together",),
        ("may_stop", "own | observed.peers_ended.renewed", "own"),
    ),
    pool_mutant(
        "a-pool-gives-the-token-back-while-its-broker-is-away",
        "11, together",
        ("renewal-with-a-broker-that-comes-too-late",),
        ("given_back", "not away", "True"),
    ),
    pool_mutant(
        "a-broker-whose-certificate-ended-stops-while-another-is-away",
        "11, together",
        ("renewal-with-a-broker-that-freezes",),
        ("_after_its_end", "*_of_others_that_run(observed, leader, node_id, cut_off)", "*()"),
        (
            "_of_what_waits_for_others",
            "row.fenced and row.node_id != node_id and row.node_id in view.by_broker",
            "False",
        ),
    ),
)
