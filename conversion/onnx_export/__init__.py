"""The parts of the verb onnx: the graph, and its comparison with the model."""
