"""The dashboards of the chart, as Python that is checked by types: `python -m helm.dashboards` writes their JSON.

`panels` has the kinds of panel that both use, `fleet` and `quorum` what they show, and `__main__` writes the files.
What each row answers is in docs/dashboards.md.
"""
