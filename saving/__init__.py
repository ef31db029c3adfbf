"""Checkpoint folders: write them, check that they load without this package, describe them and upload them."""
