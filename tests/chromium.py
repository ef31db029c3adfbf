"""Drives a headless Chromium through its DevTools pipe: opens a page, types, reads values.

The pipe needs no port and no package. `CHROMIUM` in the environment names another program than the one on the path.
"""

import base64
import fcntl
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ABSENT = "there is no Chromium; install it (Debian: apt-get install chromium), or set CHROMIUM to its path"
KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36} | {
    f"Arrow{way}": 37 + place for place, way in enumerate(("Left", "Up", "Right", "Down"))
}
MOST_SECONDS = 240  # that a call may take
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium() -> str | None:
    """Returns the path of a Chromium, or None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with one tab, as a context manager. `requests` are the addresses that the tab asked for.

    Raises:
        SystemExit: there is no Chromium.
    """

    def __init__(self) -> None:
        program = find_chromium()
        if program is None:
            sys.exit(f"{ABSENT}.")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # Chromium reads from descriptor 3 and writes to descriptor 4.
        (child_in, parent_out), (parent_in, child_out) = os.pipe(), os.pipe()
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (child_in, child_out)]

        def take_places() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._folder.name}", "about:blank"],
            pass_fds=(3, 4), preexec_fn=take_places, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for descriptor in (child_in, child_out, *high):
            os.close(descriptor)
        self._out, self._in = os.fdopen(parent_out, "wb", 0), os.fdopen(parent_in, "rb")
        self._rest, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._out.close()
        self._in.close()
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Returns the result of a method of the DevTools protocol, or raises RuntimeError or TimeoutError."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        answer: dict[str, Any] = {}
        while answer.get("id") != self._number:
            answer = self._read()
            if answer.get("method") == "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], MOST_SECONDS)[0]:
                raise TimeoutError(f"Chromium gave no answer in {MOST_SECONDS} seconds; look for an endless script.")
            chunk = os.read(self._in.fileno(), 1 << 16)
            if not chunk:
                raise RuntimeError("Chromium ended; start it by hand to see why.")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Sets the window in CSS pixels, and the colours that the person prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Opens an address in the tab, afresh even if only the part behind `#` differs."""
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.requests.clear()
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression; a promise is awaited. Raises RuntimeError if it throws."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "the expression throws"))
        return answer["result"].get("value")

    def call_function(self, function: str, *arguments: Any) -> Any:
        """Calls a JavaScript function, given as text, with JSON arguments; bytes become an ArrayBuffer."""

        def as_javascript(argument: Any) -> str:
            if not isinstance(argument, bytes):
                return json.dumps(argument)  # in ASCII: a lone surrogate is an escape
            encoded = base64.b64encode(argument).decode()
            return f"Uint8Array.from(atob({json.dumps(encoded)}), (letter) => letter.charCodeAt(0)).buffer"

        return self.evaluate(f"({function})({', '.join(map(as_javascript, arguments))})")

    def wait(self, condition: str, seconds: float = 20) -> None:
        """Waits until a JavaScript expression is true; raises TimeoutError if it does not become so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.evaluate(condition):
                    return
            except RuntimeError as error:
                if not re.search("context|navigated", str(error)):  # the page changes: the next try finds the new one
                    raise
            time.sleep(0.02)
        raise TimeoutError(f"after {seconds} seconds this is not true: {condition}")

    def write(self, selector: str, text: str) -> None:
        """Replaces the text of a field, as a person does who selects all and pastes."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Presses a key: "Tab", "ArrowRight" and other names of `KeyboardEvent.key`."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEY_CODES[key])
