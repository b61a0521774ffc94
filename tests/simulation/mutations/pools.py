"""Mutants of the guards of pools: rules 10 and 11, the token, and what a look at all partitions proves."""

from typing import Final

from tests.simulation.mutations.mutant import Mutant, pool_mutant

_ANY_LEADER: Final = """
seen = frozenset(servers)
leader = Known(value=Leader(endpoint=next(iter(controllers.values())), epoch=1, observers=seen,
    observers_caught_up=seen, settled=True, voters=1, voters_caught_up=1))
"""
_ROLL: Final = ("pool-roll", "pool-roll-of-slow-replicas", "pool-roll-with-one-that-lags")

POOL_MUTANTS: Final[tuple[Mutant, ...]] = (
    # 11: partitions stay available
    pool_mutant(
        "a-pool-forgets-min-isr",
        "11",
        ("pool-roll-with-one-that-lags",),
        ("_of_member", "len(left) < min_isr", "False"),
        ("_of_member", "harmed", "False"),
    ),
    pool_mutant(
        "a-pool-judges-by-replicas",
        "11",
        ("pool-roll-with-one-that-lags",),
        ("_of_member", "set(partition.isr)", "set(partition.replicas)"),
    ),
    pool_mutant(
        "a-pool-ignores-moves",
        "11",
        ("pool-roll-during-moves",),
        ("_of_member", "harmed", "False"),
    ),
    pool_mutant(
        "a-pool-believes-an-old-picture",
        "11",
        ("pool-old-picture-hides-a-loss",),
        ("ask", "leader.value.observers_caught_up & servers.keys()", "servers.keys()"),
    ),
    pool_mutant(
        "brokers-that-share-a-partition-stop-together",
        "11, together",
        ("pool-roll-together-sharing",),
        ("_of_the_batch", "share(view, one, other)", "False"),
    ),
    pool_mutant(
        "too-many-brokers-stop-together",
        "11, together",
        ("pool-roll-pairs",),
        ("_of_the_batch", "len(batch) > desired.max_unavailable", "False"),
        ("_widened", "len(batch) < situation.desired.max_unavailable and other not in batch", "other not in batch"),
    ),
    pool_mutant(
        "a-pool-stops-without-the-token",
        "11, together",
        ("pool-waits-for-the-token",),
        ("rolls", "not holds_token(situation.desired, situation.observed)", "False"),
        (
            "_evictions",
            "isinstance(verdict, Permit) and holds_token(situation.desired, situation.observed)",
            "isinstance(verdict, Permit)",
        ),
    ),
    pool_mutant(
        "a-pool-stops-with-a-token-that-ends",
        "11, together",
        ("pool-token-freed-late",),
        ("holds_token", "not observed.token.value.ends", "True"),
    ),
    pool_mutant(
        "back-is-ready-only",
        "11, together",
        ("pool-roll-of-slow-replicas-of-one",),
        (
            "not_back",
            "node_id in view.replicas_of(partition) and node_id not in partition.isr and partition.at not in outside",
            "False",
        ),
    ),
    pool_mutant(
        "one-that-is-away-does-not-count",
        "11, together",
        ("pool-roll-of-slow-replicas", "pool-roll"),
        ("_of_the_record", "broker.stopped", "False"),
        (
            "_of_the_record",
            "broker.ran and broker.node_id in view.by_broker and (pod is None or not pod.serves)",
            "False",
        ),
        ("_of_other_brokers", "row.fenced and row.node_id not in batch and row.node_id in view.by_broker", "False"),
        ("returning", "[one for one in situation.record.brokers if one.stopped and not one.empty]", "[]"),
    ),
    pool_mutant(
        "a-broker-that-ended-is-relied-on",
        "11",
        ("pool-roll/step:43:sandbox:2", "pool-roll/step:44:pod-forgotten:1"),
        ("_as_usual", "*_of_contact(observed, view, leader, batch)", "*()"),
        (
            "_of_the_record",
            "broker.ran and broker.node_id in view.by_broker and (pod is None or not pod.serves)",
            "False",
        ),
    ),
    pool_mutant(
        "a-broker-of-another-pool-need-not-answer",
        "11",
        ("two-pools/step:61:node-flaps:1",),
        ("_of_contact", "None if peer is None else observed.answers(peer)", "None"),
    ),
    pool_mutant(
        "a-formatter-of-claims-that-were-given-up-stays",
        "live",
        ("pools/315",),
        ("_ended", "_is_dropped(broker) or pod.claim_uids != uids", "_is_dropped(broker)"),
    ),
    pool_mutant(
        "what-no-order-keeps-is-stopped",
        "11, held",
        ("pool-roll-held", "pool-roll-min-isr-is-rf"),
        ("_of_member", "len(replicas) <= max(min_isr, 1)", "False"),
        ("_of_member", "not left", "False"),
        ("_of_member", "len(left) < min_isr", "False"),
        ("_of_member", "harmed", "False"),
    ),
    pool_mutant(
        "a-hold-is-not-a-consent",
        "11, held",
        ("pool-roll-held",),
        ("_of_consent", "desired.unavailable is Unavailable.ALLOW", "True"),
    ),
    pool_mutant(
        "brokers-stop-without-a-leader",
        "11, leaderless",
        ("pool-roll-leaderless",),
        ("ask", "return Asked(leader=leader, cluster=Unknown(reason=leader.reason), at_s=at_s)", _ANY_LEADER),
        ("_view", "brokers.reassignments(leader.endpoint)", "asyncio.sleep(0, ())"),
    ),
    # 10: no acknowledged record is lost
    pool_mutant(
        "the-last-copy-is-formatted",
        "10, formats",
        ("pool-lost-last-copy",),
        ("_against", "bool(lost and way_out)", "False"),
        ("came_back", "not lost or is_accepted(observed, data)", "True"),
    ),
    pool_mutant(
        "an-accepted-loss-accepts-the-next-one",
        "10, formats",
        ("pool-lost-last-copy-twice",),
        ("is_accepted", "observed.accept_loss.issuperset(data)", "bool(observed.accept_loss)"),
    ),
    pool_mutant(
        "what-a-rebuilt-record-lacks-is-new",
        "10, formats",
        ("pool-record-and-claim-0-of-last-copy", "pool-record-and-claim-1-of-last-copy"),
        ("_whole", "broker.ran and not disk.formatted", "False"),
    ),
    pool_mutant(
        "a-broker-leaves-before-it-is-empty",
        "10, leaves",
        ("pool-shrink-held",),
        ("may_leave", "if has := _has(view, node_id):\n    return no(has)", ""),
        (
            "_of_directories",
            "if isinstance(log_dirs, Unknown):\n    ...",
            "if isinstance(log_dirs, Unknown):\n    return yes('it does not matter')",
        ),
    ),
    pool_mutant(
        "a-broker-is-unregistered-while-it-runs",
        "10, leaves",
        ("pool-shrinks-empty", "pool-shrinks"),
        ("_stop", "if pod is not None:\n    ...", ""),
        ("_after_its_stop", "view.in_contact(node_id)", "False"),
    ),
    pool_mutant(
        "the-present-volume-is-deleted",
        "10",
        ("pool-lost-disk", "pool-shrinks", "pool-lost-claim"),
        ("may_delete_volume", "present", "False"),
        ("_present", "disk is not None and disk.generation <= claim.generation", "False"),
    ),
    pool_mutant(
        "a-claim-goes-with-all-that-is-left",
        "10",
        ("pool-lost-node-and-then-the-last-copy",),
        ("may_delete_volume", "bool(needed := _may_be_needed(observed, broker, claim)), needed", 'False, ""'),
    ),
    pool_mutant(
        "what-runs-on-a-lost-machine-counts-as-its-successor",
        "10",
        ("pool-lost-node-that-comes-back-with-the-last-copy",),
        ("_may_be_needed", "not _serves(observed, broker, claim.index)", "False"),
    ),
    pool_mutant(
        "a-new-volume-is-used-although-the-one-before-came-back",
        "10",
        ("pool-lost-node-that-comes-back-with-the-last-copy",),
        ("came_back", "not empty", "True"),
    ),
    pool_mutant(
        "one-empty-look-gives-a-volume-up",
        "2, data",
        tuple(f"pool-roll/step:{step}:disk-blank:{node}" for step in (43, 46, 60, 70) for node in (0, 1, 2)),
        ("is_blank", "empty_for_s(pod, disk.index) >= BLANK_FOR_S", "True"),
    ),
    pool_mutant(
        "runs-that-found-data-between-two-empty-ones-count-for-nothing",
        "2, data",
        ("pool-disk-that-hides-twice",),
        ("follows", "run.number == earlier.number + 1", "True"),
    ),
    pool_mutant(
        "a-stop-that-a-budget-holds-keeps-everything-else",
        "live",
        ("pool-shrinks-while-a-budget-holds-its-roll",),
        ("is_tried", "not outcome.held or isinstance(outcome.action, EvictPod)", "not outcome.held"),
    ),
    pool_mutant(
        "a-stop-that-a-budget-holds-begins-again",
        "live",
        ("pool-shrinks-while-a-budget-holds-its-roll",),
        ("rolls", "one.stopped and still_runs(situation, one)", "False"),
    ),
    pool_mutant(
        "what-an-earlier-run-found-empty-counts-no-more",
        "live",
        ("pool-lost-disk-and-operators-that-end",),
        ("follows", "run.number == earlier.number + 1", "False"),
    ),
    pool_mutant(
        "what-an-earlier-run-found-counts-after-kafka-has-run",
        "2, data",
        ("pool-disk-that-hid-before-a-boot",),
        ("_report", "ended is None", 'not (ended or {}).get("message")'),
        ("_report", 'not row.get("containerID") or ended.get("containerID") != row.get("containerID")', "False"),
    ),
    pool_mutant(
        "data-that-the-init-container-found-counts-for-nothing",
        "2, data",
        ("pool-disk-that-hides-in-two-sandboxes",),
        ("_was_found", "other is not None", "False"),
    ),
    pool_mutant(
        "a-broker-without-replicas-holds-a-roll-up",
        "live",
        ("pool-roll-beside-a-lost-disk-without-replicas",),
        ("_may_be_away", "broker.node_id not in view.by_broker", "False"),
    ),
)
