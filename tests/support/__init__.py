"""Helpers of the tests: exports built in code, and brute-force truth."""
