"""Live locations for the parties of a parcel, and for nobody else.

``protocol`` holds the messages and the machines that make and judge them, without sockets, disk or
clock.  It needs PyNaCl (``pip install voile-share``).
"""
