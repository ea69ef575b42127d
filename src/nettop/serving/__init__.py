"""The screen in a browser: `nettop serve`.

Takes HTTP requests on loopback, gives the page and one screen process for each web socket. `door`
decides who may enter, `site` what is answered, `child` runs one screen. Knows no other folder.
"""
