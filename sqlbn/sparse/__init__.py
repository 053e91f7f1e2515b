"""Long and sparse input: cells of rows, a fit of them, its losses; scoring is in `kinds/sparse`."""
