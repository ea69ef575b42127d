"""The screen in a browser: `nettop serve`.

Takes HTTP requests on loopback; gives the page and one screen process per web socket. `listen`
checks requests and answers them, `child` runs one screen. It depends on no other folder.
"""
