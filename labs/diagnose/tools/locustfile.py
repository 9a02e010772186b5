# The visits of shop.load.ts by Locust: 1 to 40 users with a second between their visits.
#
#   locust --headless -f labs/diagnose/tools/locustfile.py --host http://127.0.0.1:8080 -u 40 -r 1.7 -t 24s

import random

from locust import HttpUser, constant, task


class Visitor(HttpUser):
    wait_time = constant(1)

    @task
    def visit(self):
        self.client.get("/list", name="List")
        self.client.get(f"/item?code=P{random.randint(1, 1000)}", name="Item")
        self.client.post("/login", name="Login")
        self.client.post("/buy", name="Buy")
        self.client.get("/report", name="Report")
