"""Converts checkpoints into this family, within it and out of it. One file for each verb."""
