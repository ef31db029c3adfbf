"""What the verb onnx is made of."""
