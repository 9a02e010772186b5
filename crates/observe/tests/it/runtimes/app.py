# A service in Python for the tests of its observer: one thread holds the lock and sleeps, two wait for it, one waits for the network, one computes.
import socket
import sys
import threading
import time

stock_lock = threading.Lock()


def hold():
    with stock_lock:
        while True:
            time.sleep(60)


def buy():
    stock_lock.acquire()


def listen(connection):
    with connection.makefile("rb") as lines:
        lines.readline()


def burn():
    total = 0
    while True:
        for number in range(100_000):
            total += number


server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
held = threading.Thread(target=hold, name="holder")
held.daemon = True
held.start()
while not stock_lock.locked():
    time.sleep(0.01)
silent = socket.create_server(("127.0.0.1", 0))
ours = socket.create_connection(silent.getsockname())
work = [("worker_1", buy, ()), ("worker_2", buy, ()), ("worker_3", listen, (ours,)), ("burner", burn, ())]
for name, target, arguments in work:
    threading.Thread(target=target, args=arguments, name=name, daemon=True).start()
while True:
    server.accept()
