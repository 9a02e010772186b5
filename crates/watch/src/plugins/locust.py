"""Writes each request to the file LOADSTONE_RECORD, as `loadstone watch` reads it. Loadstone adds this file to the locustfiles."""

import json
import os
import time

import gevent
from locust import events

_environment = None
_record = open(os.environ["LOADSTONE_RECORD"], "ab", buffering=0)


def _write(line):
    # One write per line: lines of several processes do not mix.
    _record.write(json.dumps(line).encode()[:4000] + b"\n")


@events.request.add_listener
def _on_request(request_type, name, response_time, response_length, exception=None, response=None, **_):
    status = getattr(response, "status_code", 0) or 0
    error = "" if exception is None else f"{type(exception).__name__}: {exception}"[:500]
    _write(["r", time.time(), response_time or 0, request_type, name[:500], status, int(response_length or 0), error])


@events.init.add_listener
def _on_init(environment, **_):
    global _environment
    _environment = environment

    def report_users():
        while True:
            runner = environment.runner
            if runner is not None and type(runner).__name__ != "MasterRunner":
                _write(["u", time.time(), os.getpid(), runner.user_count])
            gevent.sleep(1)

    gevent.spawn(report_users)


@events.quit.add_listener
def _on_quit(**_):
    runner = _environment.runner
    total = _environment.stats.total
    if type(runner).__name__ == "WorkerRunner" or not total.num_requests:
        return
    # The percentiles of Locust's own table.
    stated = [[quantile, total.get_response_time_percentile(quantile)] for quantile in (0.5, 0.9, 0.95, 0.99)]
    _write(["p", stated])
