"""One process with threads, as a small service has; it says where it listens as every stack does."""

import json
import os

settings = json.loads(os.environ.get("FAULT") or "{}")
bind = "127.0.0.1:0"
worker_class = "gthread"
threads = settings.get("workers", 64)
worker_connections = 2000
keepalive = 60
# Requests may wait for what never comes.
graceful_timeout = 2
loglevel = "warning"


def when_ready(server):
    print(f"listening {server.LISTENERS[0].getsockname()[1]}", flush=True)


def post_worker_init(_worker):
    # Threads of a pool do not survive the fork that makes a worker.
    import shop

    shop.pool.open(wait=True)
