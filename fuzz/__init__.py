"""Fuzzer: random tables, frames, files, models and pictures, and the checks that every run must pass.

python -m fuzz tables|frames|files|models|pictures|all --cases 300 --seed 0

CONTRIBUTING.md tells how to make a case again and how to add a generator.
"""
