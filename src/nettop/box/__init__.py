"""The black box: the last minutes of a host on disk, and an incident for each cause that began.

Takes the raw moments of a recording source and the findings of each sample. Gives a ring of
segments that stand alone (`ring/NUMBER.host.gz`), and incidents: recordings of the time before and
after a finding began (`TIME-RULE.host.gz`). Both together never take more disk than the box may.
`ring` writes, and reads by time, `incident` says what began, and `blackbox` decides when, and joins
them for `nettop watch --box`.
"""
