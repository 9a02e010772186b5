"""The faults that a service carries in itself, around each of its requests. See ../README.md for what each setting means."""

import json
import os
import random
import threading
import time

SETTINGS = json.loads(os.environ.get("FAULT") or "{}")


class Refused(Exception):
    """What answers instead of the request's own handler."""

    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status


class Faults:
    def __init__(self):
        self.state = threading.Lock()
        self.mutex = threading.Lock()
        self.first = None
        self.kept = []
        self.limited = 0.0
        self.second, self.count = 0, 0

    def around(self, name, handle):
        """Runs a request's handler with everything that is wrong with it."""
        now = time.monotonic()
        with self.state:
            self.first = self.first or now
            if leak := SETTINGS.get("leak"):
                self.kept.append(b"1" * leak)
        elapsed = now - self.first
        self.stalled(elapsed)
        self.rate_limited(now)
        self.fail(name, elapsed)
        if (warm_up := SETTINGS.get("warmUp")) and elapsed < warm_up["seconds"]:
            time.sleep(warm_up["ms"] / 1000 * (1 - elapsed / warm_up["seconds"]))
        # How many requests are worked on at a time is the number of the server's threads.
        if work := SETTINGS.get("work"):
            time.sleep(work / 1000)
        if (mutex := SETTINGS.get("mutex")) and name == "Buy":
            with self.mutex:
                time.sleep(mutex / 1000)
                return handle()
        return handle()

    def login(self):
        """Computes for as long as a login of this service takes: CPU time of its thread, which others cannot shorten."""
        end = time.thread_time() + SETTINGS.get("cpu", 0) / 1000
        digest = 0
        while True:
            for number in range(1000):
                digest = (digest * 31 + number) & 0xFFFFFFFF
            if time.thread_time() >= end:
                return digest

    def stalled(self, elapsed):
        stall = SETTINGS.get("stall")
        if stall and elapsed >= stall["every"]:
            into = elapsed % stall["every"] * 1000
            if into < stall["ms"]:
                time.sleep((stall["ms"] - into) / 1000)

    def rate_limited(self, now):
        """One place every 1 / perSecond; what comes early waits for its place, or is refused beyond a burst of five."""
        limit = SETTINGS.get("limit")
        if not limit:
            return
        gap = 1 / limit["perSecond"]
        with self.state:
            self.limited = max(self.limited, now)
            wait = self.limited - now
            if not limit.get("delay") and wait > 5 * gap:
                raise Refused(429)
            self.limited += gap
        if limit.get("delay"):
            time.sleep(wait)

    def fail(self, name, elapsed):
        errors = SETTINGS.get("errors")
        if not errors or errors.get("request", name) != name or elapsed < errors.get("from", 0):
            return
        if above := errors.get("above"):
            with self.state:
                second = int(time.time())
                self.second, self.count = second, self.count + 1 if second == self.second else 1
                if self.count > above:
                    raise Refused(503)
        elif random.random() < errors["share"]:
            raise Refused(500)
