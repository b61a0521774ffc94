"""Change a disk so that a quorum that lost its majority can continue from it, with the standard library alone.

`copy` first, then `rewrite`, or `seed` if no disk of a controller is left. Each may be lost at any point and repeated.
"""

from kraftlog.rewrite.copying import Copied, CopiedFile, LeftOut, copy
from kraftlog.rewrite.plan import (
    EPOCH_GAP,
    PLAN_SCHEMA,
    At,
    RewritePlan,
    SeedPlan,
    plan_of,
    read_plan,
    read_seed_plan,
)
from kraftlog.rewrite.rewriting import Rewritten, rewrite
from kraftlog.rewrite.seeding import seed, seed_plan_of

__all__ = [
    "EPOCH_GAP",
    "PLAN_SCHEMA",
    "At",
    "Copied",
    "CopiedFile",
    "LeftOut",
    "RewritePlan",
    "Rewritten",
    "SeedPlan",
    "copy",
    "plan_of",
    "read_plan",
    "read_seed_plan",
    "rewrite",
    "seed",
    "seed_plan_of",
]
