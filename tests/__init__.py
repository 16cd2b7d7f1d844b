"""Tests of nsysflow's promises."""
