"""The pages and their forms, a module for each screen."""
