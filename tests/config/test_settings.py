"""Settings are safe by default, and each mistake is one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client

from config import csp, env, settings


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A Python process of the project with these variables set (empty: not set)."""
    surroundings = {name: value for name, value in {**os.environ, **variables}.items() if value}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=env.BASE_DIR,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )


def test_sqlite_is_the_default_and_has_the_options_that_keep_it_from_locking(tmp_path: Path) -> None:
    database = settings.database("", tmp_path / "new folder")
    assert database["ENGINE"] == "django.db.backends.sqlite3"
    assert database["NAME"] == str(tmp_path / "new folder" / "routewarden.sqlite3")
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert database["OPTIONS"]["timeout"] == 20
    assert (tmp_path / "new folder").is_dir()


@pytest.mark.sqlite
@pytest.mark.django_db
def test_sqlite_runs_with_a_write_ahead_log() -> None:
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert cursor.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL


def test_postgres_keeps_its_connections_and_checks_them(tmp_path: Path) -> None:
    database = settings.database("postgres://me:secret@db.example:5433/rw", tmp_path)
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db.example", 5433, "rw")
    assert database["CONN_HEALTH_CHECKS"]


@pytest.mark.parametrize("url", ["oracel://x/y", "postgres://h:port/db"])
def test_an_unreadable_database_url_is_named(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL cannot be read"):
        settings.database(url, tmp_path)


@pytest.mark.parametrize(
    ("url", "port", "is_ssl", "is_tls"),
    [
        ("smtp://mail.example", 25, False, False),
        ("smtps://me:p%40ss@mail.example", 465, True, False),
        ("smtp+tls://mail.example:2525", 2525, False, True),
    ],
)
def test_a_mail_url_says_how_mail_is_sent(url: str, port: int, is_ssl: bool, is_tls: bool) -> None:
    mail = settings.mail(url)
    assert (mail["EMAIL_PORT"], mail["EMAIL_USE_SSL"], mail["EMAIL_USE_TLS"]) == (port, is_ssl, is_tls)
    assert mail["EMAIL_HOST_PASSWORD"] in ("", "p@ss")


@pytest.mark.parametrize(
    "url", ["mail.example", "http://mail.example", "smtp://", "smtp://mail.example:many"]
)
def test_an_unreadable_mail_url_is_named(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL must look like"):
        settings.mail(url)


@pytest.mark.parametrize("url", ["amqp://host", "host:6379"])
def test_a_broker_that_is_not_redis_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL must begin with redis://"):
        settings.redis(url, tmp_path)


def test_the_broker_is_our_own_on_a_socket_unless_given(tmp_path: Path) -> None:
    assert settings.redis("", Path("/state")) == "redis+socket:///state/valkey.sock"
    assert settings.redis("redis://host:1/2", tmp_path) == "redis://host:1/2"


def test_a_log_level_that_does_not_exist_is_named() -> None:
    assert settings.log_level("debug") == "DEBUG"
    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL is 'loud'"):
        settings.log_level("loud")


def test_defaults_are_safe() -> None:
    defaults = env.Environment()
    assert not defaults.debug
    assert defaults.secret_key == ""
    assert "*" not in defaults.allowed_hosts
    assert not defaults.behind_proxy


def test_the_web_server_refuses_to_start_without_a_secret_of_its_own() -> None:
    refused = run("-c", "import config.asgi", SECRET_KEY="")
    assert refused.returncode != 0
    assert "SECRET_KEY is not set" in refused.stderr.splitlines()[-1]


def test_the_web_server_starts_with_a_secret() -> None:
    started = run("-W", "error", "-c", "import config.asgi", SECRET_KEY="x" * 50)
    assert started.returncode == 0, started.stderr


def test_commands_that_serve_nobody_need_no_secret() -> None:
    assert run("manage.py", "check", SECRET_KEY="").returncode == 0


def test_a_broken_variable_ends_a_command_with_one_sentence() -> None:
    refused = run("manage.py", "check", TICK_S="often")
    assert refused.returncode == 1
    assert refused.stderr == "Configuration: TICK_S is 'often', which is not a number above zero.\n"


def test_an_unreachable_database_ends_a_command_with_one_sentence(tmp_path: Path) -> None:
    refused = run("manage.py", "migrate", DATABASE_URL=f"postgres://nobody@/none?host={tmp_path}")
    assert refused.returncode == 1
    assert refused.stderr.startswith("Database: ")
    assert len(refused.stderr.splitlines()) == 1


def test_a_server_under_https_passes_the_deployment_check() -> None:
    checked = run(
        *("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
        SECRET_KEY="a long secret " + "".join(map(chr, range(65, 115))),
        ALLOWED_HOSTS="routewarden.example.org",
        SECURE_COOKIES="yes",
        HTTPS_REDIRECT="yes",
        HSTS_S="31536000",
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/admin/login/", "/admin/no-such-page/"])
def test_every_answer_carries_the_content_security_policy(client: Client, path: str) -> None:
    assert client.get(path).headers["Content-Security-Policy"] == csp.POLICY


def test_the_policy_allows_no_inline_script_or_style() -> None:
    assert "unsafe" not in csp.POLICY
    assert "script-src 'self';" in csp.POLICY
    assert "style-src 'self';" in csp.POLICY
