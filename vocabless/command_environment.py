"""What a command sets in its environment before torch and tqdm are imported. It acts on the whole process.

Threads of torch wait for each other in a loop, which holds a core that the awaited thread may need; after so many
rounds they sleep. docs/performance.md has what it saves. A bar of any library appears after two seconds.
"""

import os

os.environ.setdefault("TQDM_DELAY", "2")
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
