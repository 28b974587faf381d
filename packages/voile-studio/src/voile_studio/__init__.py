"""Studio: from a file to a signed release, in a browser, on one's own machine.

A local web application over the command line: every screen shows what a command found, and starts
commands.  It decides nothing that a command does not decide, and what it does stands in files that
commands read: ``plan.toml``, comparisons, studies, releases, a ledger.

    places     which files may be looked at: those in the folder that Studio was started in
    project    the folder of one table: its plan, its tries, its releases
    jobs       commands that run in processes of their own, and outlive the server
    guard      who may call: one browser, by a token; no other site
    peers      whose a connection on this machine is
    planning   edits of a plan as text, and where in it an error stands
    levels     edits of a hierarchy
    words      methods and roles in plain words
    charging   what publishing will cost the ledger
    pictures   the figures that are drawn here
    spreads    what a release did to each column, and to the groups
    screens    what the pages show, one module each
    server     the application
"""
