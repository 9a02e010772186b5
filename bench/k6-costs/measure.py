#!/usr/bin/env python3
"""What a k6 script costs in Loadstone and in k6: CPU per iteration, memory per VU, and the start of 5,000 VUs.

    bench/k6-costs/measure.py --loadstone target/dist/loadstone --k6 ~/go/bin/k6

It needs Linux, nginx, and two idle cores: the tools run on core 0, nginx on core 1. It takes about five minutes, and prints a table in Markdown.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
PORT = 18099
URL = f"http://127.0.0.1:{PORT}/"
ROUNDS = 5
STARTS = 3
IDLE_VUS = (500, 2500)


class Ended:
    """A tool that has ended: what it printed and what it took."""

    def __init__(self, command, folder):
        began = time.monotonic()
        process = subprocess.Popen(["taskset", "-c", "0", *command], cwd=folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds = time.monotonic() - began
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_kb = usage.ru_maxrss
        self.command, self.status = command, status

    def iterations(self):
        """How many iterations ended."""
        found = re.search(r"^\s*iterations\.*:\s+(\d+)", self.output, re.M) or re.search(r"([\d,]+) iterations", self.output)
        if not found:
            sys.exit(f"{' '.join(self.command)} printed no number of iterations (status {self.status}):\n{self.output}")
        return int(found[1].replace(",", ""))


def serve(folder):
    """Starts nginx, and returns when it answers."""
    settings = (HERE / "nginx.conf").read_text().replace("{folder}", str(folder)).replace("{port}", str(PORT))
    (folder / "nginx.conf").write_text(settings)
    server = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")])
    for _ in range(100):
        if server.poll() is not None:
            sys.exit(f"nginx ended: see {folder}/error.log. Is port {PORT} in use?")
        try:
            urllib.request.urlopen(URL, timeout=1).read()
            return server
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("nginx does not answer")


def ratio(values):
    return values["Loadstone"] / values["k6"]


def row(name, values, unit, digits):
    k6, loadstone = (f"{values[tool]:.{digits}f} {unit}" for tool in ("k6", "Loadstone"))
    print(f"| {name} | {k6} | {loadstone} | {ratio(values):.2f} |", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--loadstone", required=True, type=Path)
    arguments.add_argument("--k6", required=True, type=Path)
    arguments.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = arguments.parse_args()
    tools = {
        "k6": [str(chosen.k6.resolve()), "run", "--quiet", "--no-color"],
        "Loadstone": [str(chosen.loadstone.resolve()), "run", "--quiet", "--workers", "1"],
    }
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for script in ("loop.js", "idle.js", "start.js"):
            shutil.copy(HERE / script, folder)
        server = serve(folder)
        try:
            measure(tools, folder, chosen.rounds)
        finally:
            server.terminate()
            server.wait()


def measure(tools, folder, rounds):
    print("| | k6 | Loadstone | ratio |\n|---|---|---|---|", flush=True)
    loops = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool, command in tools.items():
            ended = Ended([*command, "-e", f"URL={URL}", "loop.js"], folder)
            loops[tool].append(ended.cpu_seconds / ended.iterations() * 1e6)
    row("CPU of one iteration (GET and a check), 20 VUs: median", {tool: statistics.median(all_of) for tool, all_of in loops.items()}, "µs", 1)
    for tool, all_of in loops.items():
        print(f"| … range of {tool} | | {min(all_of):.1f} to {max(all_of):.1f} µs | |")
    peaks = {tool: [Ended([*command, "-e", f"URL={URL}", "-e", f"VUS={vus}", "idle.js"], folder).peak_kb for vus in IDLE_VUS]
             for tool, command in tools.items()}
    between = IDLE_VUS[1] - IDLE_VUS[0]
    row(f"memory for each further VU after its first iteration, {IDLE_VUS[0]} to {IDLE_VUS[1]} VUs",
        {tool: (many - few) * 1.024 / between for tool, (few, many) in peaks.items()}, "kB", 0)
    starts = {}
    for tool, command in tools.items():
        runs = [Ended([*command, "-e", f"URL={URL}", "start.js"], folder) for _ in range(STARTS)]
        for ended in runs:
            if ended.iterations() != 5000:
                sys.exit(f"{tool} ended {ended.iterations()} of 5000 iterations:\n{ended.output}")
        starts[tool] = statistics.median(ended.seconds for ended in runs)
    row("5,000 VUs with one iteration each, from start to end: median", starts, "s", 1)


if __name__ == "__main__":
    main()
