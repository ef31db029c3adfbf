"""The parts of the verb space: the graph and its weights for the browser, the manifest, and the page."""
