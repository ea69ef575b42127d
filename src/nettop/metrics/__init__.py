"""Metrics for Prometheus: what nettop knows of a host, as bounded series without secrets.

Takes observations and the journal. `families` declares every metric, observes at most once a
second, makes the samples of an observation and adds those of the journal; `listen` writes them in
the formats of Prometheus and serves them. `alerts` makes the files for Prometheus and Grafana from
the rules, `host.systemd` those for systemd. No label holds an address, a port, a process number or
a process name.
"""
