"""The commands: what each hands to the API, and how the result is printed."""
