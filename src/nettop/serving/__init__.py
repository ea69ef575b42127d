"""The screen in a browser: `nettop serve`.

Takes HTTP requests on loopback; gives the page and one screen process per web socket. `access`
checks requests, `listen` answers them, `child` runs one screen. It depends on no other folder.
"""
