"""Which quorum this is: the identity record, its copies, and what contradicts them."""
