"""Tokenization: splitters, block coders, tokenizer. These files travel with every checkpoint."""
