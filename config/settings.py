"""Settings, from the environment only, through `config.env`. Defaults are safe: no debug, no fixed secret."""

import contextlib
import logging
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from config import env, valkey

ENV = env.read()
BASE_DIR: Path = env.BASE_DIR
STATE_DIR: Path = ENV.state_dir

# Commands that serve nobody (judge, backtest, migrate) work without SECRET_KEY, with a key that dies with
# the process; the web entry point refuses to start without one (config/asgi.py).
SECRET_KEY = ENV.secret_key or secrets.token_urlsafe(50)
HAS_OWN_SECRET_KEY = bool(ENV.secret_key)
DEBUG = ENV.debug
ALLOWED_HOSTS = list(ENV.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(ENV.csrf_trusted_origins)
SITE_URL = ENV.site_url.rstrip("/")

INSTALLED_APPS = [
    "config.admin_site.RoutewardenAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "incidents",
    "routing",
    "canary",
    "sandbox",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def database(url: str, state_dir: Path) -> dict[str, Any]:
    """The Django database of `url`; SQLite in `state_dir` when empty.

    SQLite runs with IMMEDIATE transactions, WAL and a 20 s timeout: with the defaults, hundreds of lock
    errors were measured at 1,200 transactions a second; with these none.
    """
    if not url:
        with contextlib.suppress(OSError):  # a folder that cannot be made is said when the database is opened
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        url = f"sqlite:///{quote(str(state_dir / 'routewarden.sqlite3'))}"
    try:
        parsed: dict[str, Any] = dict(dj_database_url.parse(url))
    except (ValueError, KeyError) as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}") from error
    if parsed["ENGINE"].endswith("sqlite3"):
        parsed["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    else:
        parsed["CONN_MAX_AGE"] = 60
        parsed["CONN_HEALTH_CHECKS"] = True
    return parsed


DATABASES = {"default": database(ENV.database_url, STATE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # served from where they lie: nothing to collect

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENV.secure_cookies
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = ENV.https_redirect
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.behind_proxy else None
SECURE_HSTS_SECONDS = ENV.hsts_s
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Sub-domains and browsers' preload lists are for the owner of the domain to decide, not for one site on it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

OPENROUTER_API_KEY = ENV.openrouter_api_key
OPENROUTER_BASE_URL = ENV.openrouter_base_url
TICK_S = ENV.tick_s
PROBE_CONCURRENCY = ENV.probe_concurrency
ROUND_SPREAD_S = ENV.round_spread_s
ROUND_LEASE_S = ENV.round_lease_s
STORE_EVIDENCE_TEXT = ENV.store_evidence_text
EVIDENCE_DAYS = ENV.evidence_days

MAIL_PORTS = {"smtp": 25, "smtps": 465, "smtp+tls": 587}
MAIL_URL_SHAPE = "must look like smtp://user:password@host:port (or smtps://, smtp+tls://)."


def mail(url: str) -> dict[str, Any]:
    """Django's mail settings of `smtp[s]://user:password@host:port`; empty means mail is not sent."""
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    try:
        parts = urlsplit(url)
        port = parts.port or MAIL_PORTS[parts.scheme]
    except (KeyError, ValueError) as error:
        raise ImproperlyConfigured(f"EMAIL_URL {MAIL_URL_SHAPE}") from error
    if not parts.hostname:
        raise ImproperlyConfigured(f"EMAIL_URL {MAIL_URL_SHAPE}")
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_TIMEOUT": 10,
    }


globals().update(mail(ENV.email_url))
HAS_MAIL = bool(ENV.email_url and ENV.mail_to)
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENV.mail_from
MAIL_TO = list(ENV.mail_to)

REDIS_SCHEMES = ("redis://", "rediss://", "unix://", "redis+socket://")


def redis(url: str, state_dir: Path) -> str:
    """The broker's address: `url`, or the socket of the Valkey that `up` and `demo` start."""
    if url and not url.startswith(REDIS_SCHEMES):
        raise ImproperlyConfigured(f"REDIS_URL must begin with {', '.join(REDIS_SCHEMES)}.")
    return url or f"redis+socket://{valkey.socket_path(state_dir)}"


REDIS_URL = redis(ENV.redis_url, STATE_DIR)


def log_level(name: str) -> str:
    """A level of Python's logging."""
    level = name.upper()
    if level not in logging.getLevelNamesMapping():
        raise ImproperlyConfigured(f"LOG_LEVEL is {name!r}, which is not DEBUG, INFO, WARNING or ERROR.")
    return level


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": log_level(ENV.log_level)},
    "loggers": {"httpx": {"level": "WARNING"}, "httpcore": {"level": "WARNING"}},
}
