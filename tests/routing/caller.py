"""A backend process for tests: answers each line of its input with what `build_request` carries then.

Lines: `ask` from this thread, `loop` from inside an event loop, `fork` from a forked child.
"""

import asyncio
import json
import os
import sys
import warnings

import django

django.setup()

from routing.service import build_request, snapshot_state  # noqa: E402  after django.setup()


def answer() -> str:
    """One JSON object: the list of a request for the model named on the command line, and where it is from."""
    request = build_request(sys.argv[1], [{"role": "user", "content": "hello"}])
    return json.dumps(
        {"ignore": request["provider"]["ignore"], "origin": snapshot_state().origin, "pid": os.getpid()}
    )


async def answer_in_loop() -> str:
    """The same, called by a coroutine."""
    return answer()


def main() -> None:
    """Serve standard input until it ends."""
    for line in sys.stdin:
        match line.strip():
            case "ask":
                print(answer(), flush=True)
            case "loop":
                print(asyncio.run(answer_in_loop()), flush=True)
            case "fork":
                # Python 3.12 warns of what this very test is about: a fork beside a running thread.
                warnings.filterwarnings(
                    "ignore", message=r".*multi-threaded, use of fork", category=DeprecationWarning
                )
                child = os.fork()
                if child == 0:
                    print(answer(), flush=True)
                    os._exit(0)
                os.waitpid(child, 0)


if __name__ == "__main__":
    main()
