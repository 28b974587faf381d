"""What a release is still good for: measures of what was lost, none of them public."""
