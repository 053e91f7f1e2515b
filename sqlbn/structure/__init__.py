"""Structure: pure functions from counts to orders, parents and trees. No SQL here."""
