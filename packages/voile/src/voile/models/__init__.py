"""What a published table must satisfy, measured on groups of rows."""
