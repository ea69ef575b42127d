"""Many hosts: their recordings, `advise --json` documents and incidents as one report.

`reading` gives a `HostState` for each file and forgets the file; `history` keeps the first and the
last state of each host. From these `groups` finds hosts of the same hardware and software,
`differing` the settings that differ from their group, and `document` the JSON of everything. `text`
and `page` show that document. `ansible/` is the collection that gathers the files and rolls changes
out.
"""
