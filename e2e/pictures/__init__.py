"""Pictures of the dashboards for docs/dashboards.md, drawn from the queries and the looks in their JSON.

It is not Grafana: it draws what the dashboards ask of a real Prometheus, in Grafana's layout, as far as they use it.
`values` writes numbers as Grafana does, `charts` draws one panel, and `page` puts a dashboard together.
"""
