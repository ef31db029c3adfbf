"""Distillation: a model learns from the outputs of another model."""
