"""What it takes from the command to the first request: ``tooldisco run`` beside ``python -c "import anthropic"``.

    python benchmarks/session_start.py [--rounds 15] [--tools-dir DIR]

A local server notes when the first request arrives. Both processes run in turn, so that a slow moment of the machine
hits both; reported is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

IMPORT = [sys.executable, "-c", "import anthropic"]


class _Clock(HTTPServer):
    """A server that refuses every request and remembers when the first one came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Refuse)
        self.first = 0.0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class _Refuse(BaseHTTPRequestHandler):
    server: _Clock

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.server.first = self.server.first or time.perf_counter()
        body = b'{"type":"error","error":{"type":"authentication_error","message":"no"}}'
        self.send_response(401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Read the command line, run all rounds and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tools-dir", type=Path, action="append", default=[])
    options = parser.parse_args()
    layers = [word for folder in options.tools_dir for word in ("--tools-dir", str(folder))]
    ratios = []
    with tempfile.TemporaryDirectory(prefix="tooldisco-benchmark-") as home:
        for number in range(options.rounds + 1):
            clock = _Clock()
            environment = {
                **os.environ,
                "TOOLDISCO_HOME": home,
                "ANTHROPIC_API_KEY": "benchmark-key",
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{clock.server_port}",
            }
            start = time.perf_counter()
            subprocess.run(IMPORT, check=True, env=environment)
            base = time.perf_counter() - start
            command = [str(Path(sys.executable).with_name("tooldisco")), "run", "hello", *layers]
            start = time.perf_counter()
            subprocess.run(command, check=False, env=environment, capture_output=True)
            taken = clock.first - start
            clock.shutdown()
            clock.server_close()
            if number:  # the first round fills caches
                ratios.append(taken / base)
    low, *_, high = statistics.quantiles(ratios, n=10)
    spread = f"10 % to 90 %: {low:.2f} to {high:.2f}"
    print(f"first request / import anthropic: {statistics.median(ratios):.2f} ({spread})")


if __name__ == "__main__":
    main()
