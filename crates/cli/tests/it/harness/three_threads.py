"""A service with three request threads, which serve its metrics as well. A second port serves the same metrics on its own thread."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

TIMES_S = {"/report": 0.1, "/quick": 0.002}
threads = ThreadPoolExecutor(3)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(TIMES_S.get(self.path, 0))
        body = b"# TYPE shop_orders_total counter\nshop_orders_total 1\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class OwnThread(HTTPServer):
    request_queue_size = 1024

    def handle_error(self, *_):
        pass


class SharedThreads(OwnThread):
    def process_request(self, request, client_address):
        threads.submit(self.serve, request, client_address)

    def serve(self, request, client_address):
        try:
            self.finish_request(request, client_address)
        except OSError:
            pass
        finally:
            self.shutdown_request(request)


servers = [SharedThreads(("127.0.0.1", 0), Handler), OwnThread(("127.0.0.1", 0), Handler)]
for name, server in zip(["listening", "metrics"], servers):
    print(f"{name}: http://127.0.0.1:{server.server_port}", flush=True)
threading.Thread(target=servers[1].serve_forever).start()
# An executor accepts nothing once the main thread has ended.
servers[0].serve_forever()
