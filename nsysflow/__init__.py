"""Where did the step go? Analyses of multi-rank Nsight Systems captures."""

__version__ = "0.1.0"
