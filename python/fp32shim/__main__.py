"""Runs the fp32shim command if its folder is not on PATH: python3 -m fp32shim run -- python3 train.py"""

import os
import sys

from fp32shim import command_path

if __name__ == "__main__":
    try:
        command = command_path()
    except FileNotFoundError as problem:
        sys.exit(f"fp32shim: {problem}")
    os.execv(command, [command, *sys.argv[1:]])
