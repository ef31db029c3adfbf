"""Ours and the peer's side by side, from one run: `python -m benchmarks.<name>`."""
