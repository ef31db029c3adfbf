"""Reading texts: corpora, sentences, subword vocabularies."""
