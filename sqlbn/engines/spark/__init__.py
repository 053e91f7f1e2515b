"""Spark SQL as a lake: needs the extra `sqlbn[spark]`."""
