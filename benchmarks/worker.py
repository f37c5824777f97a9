"""The process of one peer, by the interpreter that the peer needs: python worker.py FILE_DESCRIPTOR PEER"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parent.parent))  # the srcgraph beside this file, whichever is installed

import measure

if __name__ == "__main__":
    measure.serve(Connection(int(sys.argv[1])), sys.argv[2])
