"""The peer's way to write one GET, which fails by itself on a status of 400 or more."""

from locust import FastHttpUser, task


class Visitor(FastHttpUser):
    @task
    def get(self):
        self.client.get("")
