"""Measurements: `python -m benchmarks`. Long by nature; the tests run them at smoke scale."""
