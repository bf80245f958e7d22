"""Headless Chromium over its debugging pipe: real key presses, real media settings, the real accessibility tree. Standard library only."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
SHIFT = 8


def chromium() -> str | None:
    """The browser's path, or None where there is none."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Browser:
    """One browser with one page. Use as a context manager; ``send`` speaks the DevTools protocol."""

    def __enter__(self) -> Browser:
        program = chromium()
        assert program is not None, "no Chromium: install it, or point CHROMIUM at one"
        self._folder = tempfile.mkdtemp(prefix="bayplan-browser-")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        # The protocol wants file descriptors 3 and 4; a shell is the plainest way to put them there.
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        command = ["bash", "-c", script, program, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(command, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []
        pages = self._call("Target.getTargets", {}, None)["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with contextlib.suppress(OSError, AssertionError):
            self._call("Browser.close", {}, None)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, method: str, **parameters: Any) -> Any:
        """One command to the page; its result. Raises AssertionError where the browser refuses."""
        return self._call(method, parameters, self._session)

    def open(self, path: Path, *, width: int = 1400, height: int = 1000, **media: str) -> None:
        """Loads a file in a window of this size; ``media`` are features such as ``prefers_color_scheme="dark"``."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.send("Emulation.setEmulatedMedia", media="", features=features)
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        self._wait("Page.loadEventFired")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page; raises AssertionError where it throws."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, modifiers: int = 0) -> None:
        """One key, down and up: Tab, Enter, a letter."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": modifiers}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """The page as a PNG, all of its height unless ``whole`` is False."""
        data = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(data["data"]))

    def accessibility_tree(self) -> list[dict[str, Any]]:
        """What a screen reader gets: role, name and properties of every node that is not ignored."""
        self.send("Accessibility.enable")
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node.get("ignored")]

    def _call(self, method: str, parameters: dict[str, Any], session: str | None) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]
            self.events.append(answer)
        raise AssertionError(f"the browser ended during {method}")

    def _wait(self, method: str) -> None:
        if any(event.get("method") == method for event in self.events):
            return
        for message in self._messages():
            self.events.append(message)
            if message.get("method") == method:
                return

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                piece = os.read(self._in, 1 << 16)
                if not piece:
                    return
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\0")
            yield json.loads(line)
