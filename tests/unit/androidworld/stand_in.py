"""A bridge that does what a test wants: its first argument says what is wrong with it. Only for faults; AndroidWorld itself is tested as it is."""

import json
import os
import subprocess
import sys
import time

how = os.environ["HOME"].rpartition("/")[2]  # the environment is narrowed: this is a way in
for line in sys.stdin:
    order = json.loads(line)
    if how == "hangs":
        subprocess.Popen(["sleep", "1000"])
        time.sleep(1000)
    elif how == "ends":
        print("out of memory", file=sys.stderr)
        sys.exit(3)
    elif how == "garbage":
        print("Traceback? no, a library that prints", flush=True)
    elif how == "other":
        print(json.dumps({"id": order["id"] + 7, "ok": {}}), flush=True)
    elif how == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    elif how == "error":
        print(json.dumps({"id": order["id"], "error": "device", "detail": "adb says no"}), flush=True)
    elif how == "odd":
        print(json.dumps({"id": order["id"], "error": {"a": 1}, "detail": None}), flush=True)
    elif how == "keys":
        print(json.dumps({"id": order["id"], "ok": {"names": sorted(os.environ)}}), flush=True)
    else:
        print(json.dumps({"id": order["id"], "ok": {"echo": order.get("word")}}), flush=True)
