"""Fine-tuning on GLUE and on a user's own data."""
