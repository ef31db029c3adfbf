"""Models: configuration, front ends, encoder and heads. Every checkpoint gets these files, joined."""
