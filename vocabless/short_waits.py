"""Lets the threads of torch sleep after a short wait for each other; a command imports this before torch.

They wait in a loop, which holds a core that the awaited thread may need. OpenMP reads the variable when torch is
loaded, and it acts on the whole process: so only our commands set it. docs/performance.md has what it saves.
"""

import os

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
