"""Comparisons of our models with stock models: `python -m benchmarks.<name>`."""
