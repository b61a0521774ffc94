"""The guards of rule 14: what a recovery of a lost majority may do. See `permit`."""

from kafka_quorum.model.permit import Guard


class BeginRecovery(Guard):
    """A recovery begins, as a person approved it."""

    id = "14-begin-recovery"


class StopForRecovery(Guard):
    """A controller is stopped, because a recovery is open."""

    id = "14-stop"


class CopyDisks(Guard):
    """The surviving disks are copied: nothing runs on them."""

    id = "14-copy"


class RetireOthers(Guard):
    """Every disk but the survivor's is given up."""

    id = "14-retire-others"


class Rewrite(Guard):
    """The survivor becomes the only voter in its log."""

    id = "14-rewrite"


class StartSurvivor(Guard):
    """The survivor starts alone."""

    id = "14-start-survivor"


class Recovered(Guard):
    """The recovery has ended: the survivor leads, and has committed records of its own."""

    id = "14-recovered"


class ReleaseDisks(Guard):
    """A copy, or an old disk, of a recovery is deleted."""

    id = "14-release"
