"""Search over structures: SelectCandidates and its bounds, hill climbing, VFBN1 and VFBN2."""
