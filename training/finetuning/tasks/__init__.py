"""What a fine-tuning task is: its problem, rows, arguments and scores."""
