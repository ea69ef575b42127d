"""Many hosts: their recordings, `advise --json` documents and incidents as one report.

`reading` gives a `HostState` for each file and forgets the file; `history` keeps the first and the
last state of each host. From these `differing` finds hosts of the same hardware and software, and
the settings that differ from their group, and `report` the document of everything, and the text and
the page that show it. `collection/` is for Ansible: it gathers the files and rolls changes out.
"""
