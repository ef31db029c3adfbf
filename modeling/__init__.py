"""Models: configuration, front ends, encoder and heads. These files travel with every checkpoint."""
