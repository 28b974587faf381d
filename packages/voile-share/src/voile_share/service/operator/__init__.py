"""The page of the people who run a service, at ``/operator``.

users       who may sign in, and how often they may be wrong
journal     what they did: an audit log
drawing     the fleet as a picture
overview    what is shown, of one company or of all
gate        sessions, and what a browser must bring
pages       the routes
"""
