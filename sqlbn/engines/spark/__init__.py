"""Spark SQL as the row engine: needs the extra `sqlbn[spark]`."""
