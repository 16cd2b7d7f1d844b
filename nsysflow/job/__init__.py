"""Across ranks: collectives matched, clocks aligned, waits split, stragglers, the critical walk.

Everything is computed from the small tables that each lane left in the store; no trace is read.
Times of different files are compared only after ``clocks`` has said how far they can be.
"""
