"""Figures: reads results only."""
