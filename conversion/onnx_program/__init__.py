"""The program beside an ONNX graph, which reads texts without torch; and the settings that it reads."""
