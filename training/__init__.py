"""Training: corpora, objectives, what the scripts share."""
