"""The laboratory: many learners on many data sets, with the statistics that papers use.

`plan` says what is to be run, `bench` runs what is missing of it, `results_file` is what all else
reads: `comparing` (ranks, tests, bias and variance), `sheets` (what is printed).
"""
