"""The tables of the papers, each by one command."""
