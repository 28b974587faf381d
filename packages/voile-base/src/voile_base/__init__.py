"""What all distributions of Voile stand on: errors, randomness, durable files, values, commands."""
