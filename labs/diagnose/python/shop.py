"""The little shop in Python: gunicorn with threads, and PostgreSQL."""

import http.client
import json
import os
import random
import threading
import urllib.parse

from faults import SETTINGS, Faults, Refused
from psycopg_pool import ConnectionPool

faults = Faults()
pool = ConnectionPool(os.environ["DATABASE_URL"], min_size=1, max_size=SETTINGS.get("pool", 20), timeout=60, open=False)
provider = urllib.parse.urlsplit(os.environ["PROVIDER_URL"])
own = threading.local()


def rows(statement, *arguments):
    with pool.connection() as connection:
        return connection.execute(statement, arguments).fetchall()


def show_list(_):
    return rows("select id, name, price from products order by id limit 20")


def show_item(query):
    return rows("select id, name, price from products where code = %s", query["code"][0])


def login(_):
    return faults.login()


def buy(_):
    if not any(paid() for _ in range(1 + SETTINGS.get("retries", 0))):
        raise Refused(504)
    held = SETTINGS.get("rowLock", SETTINGS.get("query"))
    product = 1 if "rowLock" in SETTINGS else random.randint(1, 1000)
    connection = pool.getconn()
    try:
        connection.execute("update products set stock = stock - 1 where id = %s", (product,))
        if held:
            connection.execute("select pg_sleep(%s)", (held / 1000,))
        order = connection.execute("insert into orders (product) values (%s) returning id", (product,)).fetchone()
        connection.commit()
        return order
    finally:
        if random.random() >= SETTINGS.get("unreturned", 0):
            pool.putconn(connection)


def paid():
    """Asks the payment provider; false where it takes too long."""
    timeout = SETTINGS.get("timeout")
    if getattr(own, "provider", None) is None:
        own.provider = http.client.HTTPConnection(provider.hostname, provider.port, timeout=timeout and timeout / 1000)
    try:
        own.provider.request("GET", "/pay")
        return own.provider.getresponse().read() == b"ok"
    except OSError:
        own.provider.close()
        own.provider = None
        return False


def report(_):
    for _ in range(SETTINGS.get("commits", 0)):
        with pool.connection() as connection:
            connection.execute("insert into orders (product) values (1)")
    if not (statements := SETTINGS.get("statements")):
        return rows("select category, sum(price) from products where id <= 100 group by category")
    sums = {}
    with pool.connection() as connection:
        connection.autocommit = True
        for number in range(statements):
            category, price = connection.execute("select category, price from products where id = %s", (1 + number % 1000,)).fetchone()
            sums[category] = sums.get(category, 0) + price
        connection.autocommit = False
    return sums


HANDLERS = {
    ("GET", "/list"): ("List", show_list),
    ("GET", "/item"): ("Item", show_item),
    ("POST", "/login"): ("Login", login),
    ("POST", "/buy"): ("Buy", buy),
    ("GET", "/report"): ("Report", report),
}
STATUSES = {200: "200 OK", 404: "404 Not Found", 429: "429 Too Many Requests", 500: "500 Internal Server Error", 503: "503 Service Unavailable"}


def metrics():
    stats = pool.get_stats()
    gauges = {"size": stats["pool_max"], "idle": stats["pool_available"], "waiting": stats["requests_waiting"]}
    return "".join(f"# TYPE db_pool_{name} gauge\ndb_pool_{name} {value}\n" for name, value in gauges.items())


def application(request, start):
    if request["PATH_INFO"] == "/metrics":
        return answer(start, 200, metrics(), "text/plain")
    handler = HANDLERS.get((request["REQUEST_METHOD"], request["PATH_INFO"]))
    status, body = 404, {}
    if handler:
        name, handle = handler
        try:
            status, body = 200, faults.around(name, lambda: handle(urllib.parse.parse_qs(request["QUERY_STRING"])))
        except Refused as refused:
            status = refused.status
    return answer(start, status, json.dumps(body), "application/json")


def answer(start, status, text, kind):
    body = text.encode()
    start(STATUSES.get(status, f"{status} Refused"), [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]
