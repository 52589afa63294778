"""Measures `pyflare dev` against bare baselines in the same run: `python -m benchmarks`."""
