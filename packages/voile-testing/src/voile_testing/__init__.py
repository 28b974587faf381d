"""What the tests of several distributions share; never published."""
