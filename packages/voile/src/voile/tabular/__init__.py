"""Tables of counts and sums that are safe to publish, cell by cell."""
