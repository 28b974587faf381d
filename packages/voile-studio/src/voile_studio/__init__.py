"""Studio: from a file to a signed release, in a browser, on one's own machine.

A local web application over the command line: every screen shows what a command found, and starts
commands.  It decides nothing that a command does not decide, and what it does stands in files that
commands read: ``plan.toml``, comparisons, studies, releases, a ledger.

    project    the folder of one table: its plan and all that it has been, its tries, its releases
    jobs       commands that run in processes of their own, and outlive the server
    commands   these commands, as one would type them
    guard      who may call: one browser of this user, by a token; no other site
    planning   what a plan says of each column, and where in it an error stands
    words      methods, roles and remedies in plain words
    pictures   the figures that are drawn here: also what a release did to columns and groups
    screens    what the pages show, one module each, and the application of all of them
"""
