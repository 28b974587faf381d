"""Reports: one HTML file from the record of a study, and nothing else."""
