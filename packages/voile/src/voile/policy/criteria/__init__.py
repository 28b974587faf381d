"""What a policy may ask of a release and its evidence, each kind in a module with its figure."""
