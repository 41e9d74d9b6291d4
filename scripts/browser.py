"""Headless Chromium for scripts that look at pages, spoken to over a pair of pipes with the DevTools protocol."""

import base64
import json
import os
import select
import shutil
import subprocess
from contextlib import contextmanager

MISSING = "no browser here (Debian: apt-get install chromium)"
# Seconds that it may take over one answer.
PATIENCE = 60


def find():
    """The name of a browser, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def opened(program, profile):
    """A browser with an empty page. Its profile is in a folder that is not there yet."""
    browser = Browser(program, profile)
    try:
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.call(f"{domain}.enable")
        yield browser
    finally:
        browser.close()


class Browser:
    """A browser; `opened` makes one."""

    def __init__(self, program, profile):
        down_read, self.down = os.pipe()
        self.up, up_write = os.pipe()

        def hand_over():
            # Through numbers that are neither 3 nor 4, in case one of the pipes has those.
            read, write = os.dup(down_read), os.dup(up_write)
            while min(read, write) < 5:
                read, write = os.dup(read), os.dup(write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=hand_over, close_fds=False)
        os.close(down_read)
        os.close(up_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.down, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.up], [], [], PATIENCE)[0]:
                raise RuntimeError(f"the browser has said nothing for {PATIENCE} seconds")
            piece = os.read(self.up, 1 << 20)
            if not piece:
                raise RuntimeError("the browser went away")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def open(self, url, width, height, scheme, medium="screen"):
        """Opens a page in a window of this size, as somebody sees it who likes it light or dark."""
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media=medium,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def shoot(self, file, width, height):
        """A picture of the page, however far it goes beyond the window."""
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 12000), "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self, allowed):
        """What has happened on the page that does not on a good one; `allowed` says which requests are."""
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                yield f"console: {params['args']}"
            elif method == "Runtime.exceptionThrown":
                yield f"exception: {params['exceptionDetails'].get('text')}"
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                yield f"log: {params['entry']['text']}"
            elif method == "Network.requestWillBeSent":
                wanted = params["request"]["url"]
                if not wanted.startswith("data:") and not allowed(wanted):
                    yield f"a request for {wanted}"

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
