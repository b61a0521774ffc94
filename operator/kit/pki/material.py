"""What a process gets of a leaf: one file with its key and its chain, as Kafka's PEM store reads it."""

from kit.pki.leaf import Leaf


def keystore(leaf: Leaf) -> str:
    """One PKCS#8 key, then the chain. A block on the line of the block before it is not found by Kafka."""
    return leaf.key.pem + leaf.chain_pem
