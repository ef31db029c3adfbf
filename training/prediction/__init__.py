"""Predictions of saved models for the rows of files."""
