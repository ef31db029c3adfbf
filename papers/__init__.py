"""The papers' laboratory: their tables, measures and data, on the scripts and public names of vocabless."""
