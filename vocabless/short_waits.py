"""Lets the threads of torch sleep after a short wait for each other; a command imports this before torch and tqdm.

They wait in a loop, which holds a core that the awaited thread may need. OpenMP reads the variable when torch is
loaded, and it acts on the whole process: so only our commands set it. docs/performance.md has what it saves.
A bar of any library appears after two seconds: what takes less time needs none.
"""

import os

os.environ.setdefault("TQDM_DELAY", "2")

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
