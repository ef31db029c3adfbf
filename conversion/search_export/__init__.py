"""The parts of the verb search: documents of any format, their passages, and the vectors of passages."""
