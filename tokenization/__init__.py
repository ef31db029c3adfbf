"""Tokenization: splitters, block coders and the tokenizer. These files are copied into every checkpoint."""
