"""What trains all weights of a model."""
