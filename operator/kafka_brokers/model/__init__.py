"""The domain as frozen values: ids, identity, what is desired, what was observed, actions, plan and outcome. No I/O."""
