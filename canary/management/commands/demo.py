"""`manage.py demo`: the canary's main job on one machine, against a sandbox gateway whose providers misbehave."""

import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from argparse import SUPPRESS, ArgumentParser
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from canary import enforcement, watching
from canary.demo.cast import Part, cast
from canary.demo.story import Told, decisions_after, differences, suspension_of
from config import env, stack, valkey
from config.leash import leashed
from routing import catalogue
from routing.discovering import discover
from routing.domain.modes import Mode
from routing.gateways.base import GatewayUnavailable, KeyRefused, ModelNotFound
from routing.models import Endpoint

SCENARIO = env.BASE_DIR / "sandbox" / "scenarios" / "demo.toml"
STATE_DIR = env.BASE_DIR / ".local" / "demo"
# Written into a state folder by the demo; only a folder that has it is emptied.
MARK = "made-by-the-demo"
WEB_PORT, SANDBOX_PORT = 8000, 8900
LIMIT_S = 60.0
ACTOR = "demo"
# Seconds instead of minutes, and a limit for the first text that a slow provider misses sooner.
TICK_S = 1
MODEL_SETTINGS = watching.Settings(interval_s=6, budget_usd=Decimal(1000), policy={"first_text_limit_s": 2.0})


class Command(BaseCommand):
    """Runs until Ctrl-C, or with --once until its story is complete (0) or 60 s have passed (1)."""

    help = "Show the whole main job on this machine: a sandbox gateway, two models, rounds of seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How long to run and how to speak."""
        parser.add_argument(
            "--once", action="store_true", help="end when the story is complete, or after 60 s"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
        parser.add_argument(
            "--state-dir", type=Path, default=STATE_DIR, metavar="DIR", help="emptied at each start"
        )
        parser.add_argument("--sandbox-port", type=int, help=SUPPRESS)
        parser.add_argument("--started", type=float, help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        """First make the surroundings and begin again in them; then play."""
        self.is_json = options["json"]
        self.started = options["started"] or time.monotonic()
        self.narrated: list[Told] = []
        state_dir = options["state_dir"].resolve()
        try:
            if options["sandbox_port"] is None:
                self._say("starting", "Starting the sandbox gateway, Valkey, web, worker and beat ...")
                _begin_again(state_dir, self.started)
            with stack.stoppable(), stack.only_one(state_dir.with_name(f"{state_dir.name}.lock")):
                _make_anew(state_dir)
                self._play(options["sandbox_port"], is_once=options["once"])
        except (stack.StackFailed, valkey.ValkeyMissing, OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        except stack.StopRequested:
            self._say("stopped", "Stopped.")

    def _play(self, sandbox_port: int, *, is_once: bool) -> None:
        enforcing, observing = cast(SCENARIO)
        processes = stack.Stack(
            settings.STATE_DIR, env.surroundings(keep_ours=True), say=lambda text: self._say("process", text)
        )
        try:
            self._start(processes, sandbox_port, (enforcing, observing))
            if self._is_complete(processes, enforcing, observing) and is_once:
                return
            if is_once:
                raise CommandError(f"See {processes.logs} for what each process said.")
            while True:
                self._pass_time(processes)
        finally:
            processes.stop()

    def _start(self, processes: stack.Stack, sandbox_port: int, parts: tuple[Part, Part]) -> None:
        """All processes; beat last, when there is something to find."""
        processes.start(_sandbox(sandbox_port))
        processes.start(stack.broker(settings.STATE_DIR))
        call_command("migrate", interactive=False, verbosity=0)
        processes.start(stack.worker())
        processes.start(stack.web("127.0.0.1", int(settings.SITE_URL.rsplit(":", 1)[1])))
        password = secrets.token_urlsafe(12)
        get_user_model().objects.create_superuser("admin", password=password)
        url = f"{settings.SITE_URL}/admin/"
        words = (
            f"Routewarden runs at {url} - log in as admin with {password} (this run only). Ctrl-C stops it."
        )
        self._say("started", words, url=url, user="admin", password=password)
        shell = _write_environment(settings.STATE_DIR)
        words = f"Point commands of your own at it: set -a; . {shell}; set +a"
        self._say("environment", words, file=str(shell))
        for part in parts:
            _watch(part)
        processes.start(stack.beat(settings.STATE_DIR))
        for part in parts:
            words = (
                f"{part.slug} is watched in {part.mode} mode; its endpoint {part.mixing_tag} mixes languages."
            )
            self._say("watched", words, model=part.slug, mode=part.mode, mixing_endpoint=part.mixing_tag)

    def _is_complete(self, processes: stack.Stack, enforcing: Part, observing: Part) -> bool:
        """Narrate until everything promised has come (true) or the time is over (false); say which."""
        ignored: list[str] = []
        suspended = reported = None
        while time.monotonic() - self.started < LIMIT_S:
            self._pass_time(processes)
            suspended = suspension_of(enforcing, self.narrated, is_enforced=True)
            reported = suspension_of(observing, self.narrated, is_enforced=False)
            if suspended and enforcing.mixing_tag not in ignored:
                ignored = self._ask_another_process(processes, enforcing.slug)
            if suspended and reported and enforcing.mixing_tag in ignored:
                return self._sum_up(suspended, reported)
        missing = {
            f"{enforcing.mixing_tag} suspended in {enforcing.slug}": suspended,
            f"{observing.mixing_tag} reported in {observing.slug}": reported,
            f"{enforcing.mixing_tag} ignored by another process": enforcing.mixing_tag in ignored,
        }
        for words in (words for words, came in missing.items() if not came):
            self._say("missing", f"Did not come within {LIMIT_S:.0f} s: {words}.")
        return False

    def _pass_time(self, processes: stack.Stack) -> None:
        """Keep the processes running and tell what was decided meanwhile."""
        processes.tend()
        last = self.narrated[-1].id if self.narrated else 0
        for one in decisions_after(last):
            self.narrated.append(one)
            self._say("decision", one.sentence, **one.as_json())
        time.sleep(0.25)

    def _ask_another_process(self, processes: stack.Stack, model: str) -> list[str]:
        """What a request for `model` ignores when a process of its own builds it; nothing when it cannot."""
        command = stack.python("manage.py", "route", model, "--json")
        done = subprocess.run(
            leashed(command),
            cwd=env.BASE_DIR,
            env=processes.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self._say("process", f"`manage.py route {model}` failed: {done.stderr.strip()}")
            return []
        ignored: list[str] = json.loads(done.stdout.splitlines()[0])["request"]["provider"].get("ignore", [])
        words = (
            f"`manage.py route {model}`, another process, builds a request that ignores {', '.join(ignored)}."
        )
        self._say("request", words, model=model, ignore=ignored)
        return ignored

    def _sum_up(self, suspended: Told, reported: Told) -> bool:
        """The summary; false when what was told is not what is stored."""
        wrong = differences(self.narrated)
        for sentence in wrong:
            self._say("untrue", sentence)
        elapsed_s = time.monotonic() - self.started
        words = (
            f"In {elapsed_s:.0f} s: {suspended.endpoint} suspended in {suspended.model} (decision #{suspended.id}) "
            f"and reported in {reported.model} (decision #{reported.id}); requests built elsewhere ignore it. "
            f"{len(self.narrated)} decisions told, {len(wrong)} not as stored."
        )
        self._say(
            "summary",
            words,
            elapsed_s=round(elapsed_s, 1),
            suspended=suspended.id,
            reported=reported.id,
            decisions=len(self.narrated),
            not_as_stored=len(wrong),
        )
        return not wrong

    def _say(self, event: str, sentence: str, **facts: Any) -> None:
        line = json.dumps({"event": event, **facts, "text": sentence}) if self.is_json else sentence
        self.stdout.write(line)
        self.stdout.flush()


def _write_environment(state_dir: Path) -> Path:
    """A file for a shell to read, with every variable the demo's processes are given; for its owner's eyes."""
    file = state_dir / "env"
    given = {name: os.environ[name] for name in env.VARIABLES if os.environ.get(name)}
    file.touch(mode=0o600)
    file.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(given.items())))
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def _begin_again(state_dir: Path, started: float) -> None:
    """Become the same command in the demo's own environment: nothing of the shell's settings reaches it."""
    sandbox_port = stack.free_port("127.0.0.1", SANDBOX_PORT)
    surroundings = env.surroundings(
        keep_ours=False,
        state_dir=state_dir,
        secret_key=secrets.token_urlsafe(50),
        openrouter_api_key="sandbox",
        openrouter_base_url=f"http://127.0.0.1:{sandbox_port}/api/v1",
        site_url=f"http://127.0.0.1:{stack.free_port('127.0.0.1', WEB_PORT)}",
        tick_s=TICK_S,
    )
    command = [*stack.python(*sys.argv), "--sandbox-port", str(sandbox_port), "--started", str(started)]
    os.execve(command[0], command, surroundings)  # noqa: S606  no shell is meant


def _make_anew(state_dir: Path) -> None:
    """An empty state folder. Raises `StackFailed` for one with something in it that no demo has made."""
    if state_dir.exists() and any(state_dir.iterdir()) and not (state_dir / MARK).exists():
        raise stack.StackFailed(
            f"{state_dir} is not empty and was not made by the demo: name another --state-dir."
        )
    shutil.rmtree(state_dir, ignore_errors=True)
    state_dir.mkdir(mode=0o700, parents=True)
    (state_dir / MARK).touch()


def _sandbox(port: int) -> stack.Program:
    return stack.Program(
        name="sandbox",
        command=stack.python("manage.py", "sandbox", "--faults", str(SCENARIO), "--port", str(port)),
        is_ready=lambda: stack.is_listening("127.0.0.1", port),
    )


def _watch(part: Part) -> None:
    """Watch the model as an owner would in the admin: settings, endpoints, mode, control."""
    model = watching.watch(catalogue.first_gateway().pk, part.slug, MODEL_SETTINGS, actor=ACTOR)
    try:
        discover(part.slug, is_watched=True, actor=ACTOR)
    except (ModelNotFound, GatewayUnavailable, KeyRefused) as error:
        raise stack.StackFailed(f"The sandbox gateway does not do its part: {error}") from error
    if part.control_tag:
        control = Endpoint.objects.get(model=model, tag=part.control_tag)
        watching.mark(control.pk, "is_control", is_on=True, actor=ACTOR, reason="Known to filter.")
    if part.mode is not Mode.OBSERVE:
        enforcement.set_mode(model.pk, part.mode, actor=ACTOR, reason="The demo shows what enforcing does.")
