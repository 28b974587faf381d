"""The engine on a cluster: rows as a data frame of Spark, which workers read."""
