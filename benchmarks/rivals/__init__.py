"""Rivals' problems, rivals' tests and condgof's, kept by cell: `make rivals`."""
