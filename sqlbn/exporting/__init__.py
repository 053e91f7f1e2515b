"""Models that leave sqlbn: as SQL scripts, JSON, BIF and PMML."""
