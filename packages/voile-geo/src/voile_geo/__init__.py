"""Places on the earth: distances, noise in the plane, and roads that cars can use."""
