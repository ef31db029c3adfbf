"""Tokenization: splitters, block coders and the tokenizer. Every checkpoint gets these files, joined."""
