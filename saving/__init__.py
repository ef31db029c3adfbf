"""Writing a checkpoint folder, proving that it loads, describing it and uploading it."""
