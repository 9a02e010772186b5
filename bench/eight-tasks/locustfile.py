"""The load of examples/demo.load.ts for Locust, for bench/results/eight-tasks.md. Users wait so that their number sets about the same rates."""

import random

from locust import HttpUser, LoadTestShape, constant_throughput, task


class Browse(HttpUser):
    fixed_count = 20
    wait_time = constant_throughput(1)

    @task
    def browse(self):
        listed = self.client.get("/products", params={"page": random.randint(1, 10)}, name="List products").json()
        product = random.choice(listed["products"])["id"]
        self.client.get(f"/products/{product}", name="Show product")
        if random.random() < 0.3:
            self.client.get("/search", params={"q": "lantern"}, name="Search")


class Buy(HttpUser):
    wait_time = constant_throughput(1)

    @task
    def buy(self):
        cart = self.client.post("/carts", name="Create cart").json()["id"]
        self.client.post(f"/carts/{cart}/items", json={"product": random.randint(1, 200), "count": 1}, name="Add to cart")
        with self.client.post("/checkout", json={"cart": cart}, name="Check out", catch_response=True) as order:
            if order.json().get("status") != "paid":
                order.failure("the order is not paid")


class Ramp(LoadTestShape):
    def tick(self):
        seconds = self.get_run_time()
        return (20 + 10 + int(seconds * 4), 100) if seconds < 30 else None
