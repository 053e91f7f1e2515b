"""Options, each declared once in `catalogue`; light: the program loads it for its help."""
