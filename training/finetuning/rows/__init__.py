"""The rows of a fine-tuning run: texts and labels from files or GLUE, and which of them are held out."""
