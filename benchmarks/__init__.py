"""How fast drysweep is, told as ratios to something else run beside it. ``python -m benchmarks`` prints the table."""
