"""Measurements of accuracy, time and memory: `python -m benchmarks`. The tests run them at smoke scale."""
