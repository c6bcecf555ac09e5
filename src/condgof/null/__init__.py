"""Null distributions: redraws, the Gaussian limit, weights on rows; combination; p-values."""
