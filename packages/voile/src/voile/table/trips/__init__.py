"""Tables of trips: reports of vehicles read and checked, moved, charged, and counted as flows."""
