"""NetworkPolicy for the test-bed's pod network: objects of the API server become iptables rules of the nodes.

`objects` reads them, `rules` decides, `rendering` writes rules, `enforcer` keeps the nodes in line with the API server.
All but the last are pure.
"""
