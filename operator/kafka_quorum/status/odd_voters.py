"""OddVoterCount: an even number of voters is allowed, and this says what it costs."""

from kafka_quorum.status.finding import Finding, Pass, Truth


def odd_voter_count(done: Pass) -> Finding:
    """Whether the wanted number of voters is odd."""
    wanted = done.desired.replicas
    tolerated = (wanted - 1) // 2
    if wanted % 2:
        voters = "1 voter tolerates" if wanted == 1 else f"{wanted} voters tolerate"
        said = f"{voters} the loss of {tolerated}"
        return Finding(type="OddVoterCount", truth=Truth.TRUE, reason="Odd", message=said)
    said = (
        f"{wanted} voters tolerate the loss of {tolerated}, as {wanted - 1} do, and must wait for one more of them at "
        f"every write: set spec.controllers.replicas to {wanted - 1} or {wanted + 1}"
    )
    return Finding(type="OddVoterCount", truth=Truth.FALSE, reason="Even", message=said)
