"""`evade look`: play the dream and see the draws of a run in a browser.

`session.py` is what is on screen, in plain Python; `server.py` and `static` translate it for a browser.
"""
