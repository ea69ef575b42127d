"""Metrics for Prometheus: what nettop knows of a host, as bounded series without secrets.

Takes observations and the journal. `families` declares every metric, `values` makes the samples of
one observation, `looks` observes at most once a second, and adds those of the journal, `listen`
writes the samples in the formats of Prometheus and serves them. `alerts` and `board` make the files
for Prometheus and Grafana from the rules, `files.unit` those for systemd. No label holds an
address, a port, a process number or a process name.
"""
