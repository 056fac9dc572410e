"""A headless Chromium, driven by the DevTools protocol through a pair of pipes: no port, no socket, nothing beside the standard library.

    with Browser(program) as browser:
        page = browser.open("file:///..", 1280, 800)
        page.value("document.title"), page.key("j"), page.mouse(100, 200), page.screenshot("shot.png")

A page keeps what it asked of a network (`requests`) and what it complained of (`complaints`)."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, ""), "ArrowDown": ("ArrowDown", 40, ""), "ArrowUp": ("ArrowUp", 38, ""),
        "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowRight": ("ArrowRight", 39, ""), "PageDown": ("PageDown", 34, ""), "End": ("End", 35, ""), "Home": ("Home", 36, "")}


class Browser:
    def __init__(self, program, limit=20):
        self.limit, self.folder, self.number, self.waiting, self.pages = limit, tempfile.mkdtemp(prefix="page-"), 0, b"", {}
        there, self.out = os.pipe()
        self.come, back = os.pipe()

        def pipes():  # the browser reads 3 and writes 4
            first, second = os.dup(there), os.dup(back)
            os.dup2(first, 3)
            os.dup2(second, 4)
            for end in (3, 4):
                os.set_inheritable(end, True)

        words = [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
                 "--disable-dev-shm-usage", "--disable-component-update", "--force-color-profile=srgb", f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=pipes, close_fds=False, start_new_session=True)
        os.close(there)
        os.close(back)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("Browser.close")
            self.process.wait(5)
        except Exception:  # whatever state it is in, it has to go
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.come)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, until):
        """The next message."""
        while b"\0" not in self.waiting:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.come], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.come, 1 << 16)
            if not more:
                raise EOFError("the browser is gone")
            self.waiting += more
        message, _, self.waiting = self.waiting.partition(b"\0")
        message = json.loads(message)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.hear(message["method"], message["params"])
        return message

    def ask(self, method, session=None, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.out, text):]
        until = time.monotonic() + self.limit
        while True:
            answer = self.read(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, address, width=1280, height=800, dark=False):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            page.ask(f"{domain}.enable")
        page.resize(width, height)
        page.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        page.dark(dark)
        page.ask("Page.navigate", url=address)
        page.until("document.readyState === 'complete'")
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target, self.requests, self.complaints = browser, session, target, [], []

    def ask(self, method, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def hear(self, method, parameters):
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def until(self, expression, seconds=15):
        end = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"never: {expression}")
            time.sleep(0.02)

    def settle(self):
        """Until what was asked for is drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def resize(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, yes):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if yes else "light"}])

    def key(self, key, times=1, settle=True):
        name, code, text = KEYS.get(key, (key, ord(key.upper()) if len(key) == 1 else 0, key))
        for _ in range(times):
            self.ask("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, text=text, code=name if len(name) > 1 else "")
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)
        if settle:
            self.settle()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.settle()

    def mouse(self, x, y, click=False, settle=True):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        if settle:
            self.settle()

    def box(self, selector):
        """The middle of the first element that is selected, or where it begins if it is wide."""
        return self.value(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [b.left + Math.min(b.width / 2, 20), b.top + b.height / 2]; }})()")

    def click(self, selector):
        self.mouse(*self.box(selector), click=True)

    def go(self, fragment):
        self.value(f"location.hash = {json.dumps(fragment)}")
        self.settle()

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.browser.ask("Target.closeTarget", targetId=self.target)
