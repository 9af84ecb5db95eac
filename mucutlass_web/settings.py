"""Every option of the web application, each an environment variable with a default that works on one machine."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import dj_database_url

from mucutlass_web.environment import env_bool, env_choice, env_int, env_map, env_str
from runs.roles import Role

BASE_DIR = Path(__file__).resolve().parent.parent

# --- state: everything the application writes lies below one folder -------------------------------
STATE_DIR = Path(env_str("MUCUTLASS_STATE", str(BASE_DIR / "var"))).resolve()
BUILD_CACHE_DIR = Path(env_str("MUCUTLASS_BUILD_CACHE", str(STATE_DIR / "builds")))

# --- security -------------------------------------------------------------------------------------
DEBUG = env_bool("MUCUTLASS_DEBUG", False)
ALLOWED_HOSTS = env_str("MUCUTLASS_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
CSRF_TRUSTED_ORIGINS = [origin for origin in env_str("MUCUTLASS_TRUSTED_ORIGINS", "").split(",") if origin]


def _secret_key() -> str:
    """The key of the environment, else one made once and kept readable by its owner alone."""
    given = env_str("MUCUTLASS_SECRET_KEY", "")
    if given:
        return given
    path = STATE_DIR / "secret_key"
    if not path.exists():
        STATE_DIR.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{secrets.token_hex(4)}")
        part.touch(mode=0o600)
        part.write_text(secrets.token_urlsafe(50))
        part.rename(path)
    return path.read_text()


SECRET_KEY = _secret_key()
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env_bool("MUCUTLASS_HTTPS", False)
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

# --- parts ----------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "mucutlass_web",
    "kernels",
    "sol",
    "runs",
    "django_htmx",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "mucutlass_web.arrivals.ArrivalMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "mucutlass_web.policy.ContentPolicyMiddleware",
]
ROOT_URLCONF = "mucutlass_web.urls"
WSGI_APPLICATION = "mucutlass_web.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "mucutlass_web.serving.pages.Pages",
        "NAME": "django",
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
AUTHENTICATION_BACKENDS = ["mucutlass_web.backends.MemberBackend", "mucutlass_web.sso.SsoBackend"]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "runs-list"
LOGOUT_REDIRECT_URL = "sign-in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# --- people: when they were seen, the proxies in front, single sign-on (off without an issuer and a client) --------
SEEN_EVERY_S = env_int("MUCUTLASS_SEEN_EVERY_S", 60)
TRUSTED_PROXIES = env_int("MUCUTLASS_PROXIES", 0)
if SESSION_COOKIE_SECURE and TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
OIDC_ISSUER = env_str("MUCUTLASS_OIDC_ISSUER", "")
OIDC_NAME = env_str("MUCUTLASS_OIDC_NAME", "single sign-on")
OIDC_RP_CLIENT_ID = env_str("MUCUTLASS_OIDC_CLIENT_ID", "")
OIDC_RP_CLIENT_SECRET = env_str("MUCUTLASS_OIDC_CLIENT_SECRET", "")
OIDC_RP_SIGN_ALGO = env_str("MUCUTLASS_OIDC_ALGORITHM", "RS256")
OIDC_RP_SCOPES = env_str("MUCUTLASS_OIDC_SCOPES", "openid email profile")
OIDC_ROLE_CLAIM = env_str("MUCUTLASS_OIDC_ROLE_CLAIM", "")
OIDC_ROLES = env_map("MUCUTLASS_OIDC_ROLES", tuple(Role))
OIDC_DEFAULT_ROLE = env_choice("MUCUTLASS_OIDC_DEFAULT_ROLE", Role.VIEWER.value, ("none", *Role)).replace(
    "none", ""
)
OIDC_DOMAINS = [part.strip().lower() for part in env_str("MUCUTLASS_OIDC_DOMAINS", "").split(",") if part.strip()]
OIDC_USE_PKCE = True
OIDC_TIMEOUT = 10
OIDC_AUTHENTICATION_CALLBACK_URL = "sso-callback"

# --- database: SQLite beside the workers, PostgreSQL by DATABASE_URL ------------------------------
_DATABASE_URL = env_str("DATABASE_URL", f"sqlite:///{STATE_DIR / 'db.sqlite3'}")
DATABASES: dict[str, Any] = {"default": dj_database_url.parse(_DATABASE_URL, conn_max_age=60)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE: a transaction that reads and then writes waits for the lock instead of failing on it.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
elif DATABASES["default"]["ENGINE"].endswith("postgresql"):
    # Compiling a query takes longer than any of ours runs; and no disk that spins is meant.
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("options", "-c jit=off -c random_page_cost=1.1")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- queue ----------------------------------------------------------------------------------------
REDIS_URL = env_str("REDIS_URL", "redis://127.0.0.1:6379/0")
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 30, "max_retries": 0}
# A message is a hint that a row is ready. It is sent once: the scheduler sends it again where it got lost.
CELERY_TASK_PUBLISH_RETRY = False

# --- jobs -----------------------------------------------------------------------------------------
JOB_LEASE_S = env_int("MUCUTLASS_JOB_LEASE_S", 30)
JOB_TRIES = env_int("MUCUTLASS_JOB_TRIES", 3)
WORKER_HEARTBEAT_S = 3
# How old what a poll of a run's page is told may be: viewers share one look at it.
LIVE_FRESH_S = env_int("MUCUTLASS_LIVE_FRESH_MS", 1000) / 1000
WORKER_OFFLINE_AFTER_S = env_int("MUCUTLASS_WORKER_OFFLINE_AFTER_S", 15)
BUILD_TIME_LIMIT_S = env_int("MUCUTLASS_BUILD_TIME_LIMIT_S", 120)
PROBLEM_TIME_LIMIT_S = env_int("MUCUTLASS_PROBLEM_TIME_LIMIT_S", 60)

# --- profiles: reports of Nsight Compute, the oldest of which go when all together are too large ---
PROFILE_DIR = Path(env_str("MUCUTLASS_PROFILES", str(STATE_DIR / "profiles")))
PROFILE_REPORTS_BYTES = env_int("MUCUTLASS_PROFILE_REPORTS_MB", 2048) * 2**20
PROFILE_TIME_LIMIT_S = env_int("MUCUTLASS_PROFILE_TIME_LIMIT_S", 180)
PROFILE_BEST = env_bool("MUCUTLASS_PROFILE_BEST", True)
PROFILE_ISOLATION = env_str("MUCUTLASS_PROFILE_ISOLATION", "")

# --- archives of runs: this installation's name in those it writes, and the largest that it reads -----------------
INSTALLATION = env_str("MUCUTLASS_INSTALLATION", "")
ARCHIVE_BYTES = env_int("MUCUTLASS_ARCHIVE_MB", 512) * 2**20

# --- language models: JSON or TOML, or the path of such a file; it names where keys are and holds none ------------
MODELS = env_str("MUCUTLASS_MODELS", "")
MODEL_WORKERS = env_int("MUCUTLASS_MODEL_WORKERS", 4 if MODELS else 0)

# --- HTTP API: agents outside ---------------------------------------------------------------------
# Rate limits count in the cache. One web process keeps it to itself; several need one that they share.
_CACHE_URL = env_str("MUCUTLASS_CACHE_URL", "")
CACHES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": _CACHE_URL}
    if _CACHE_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}
API_READS_A_MINUTE = env_int("MUCUTLASS_API_READS_A_MINUTE", 600)
API_POSTS_A_MINUTE = env_int("MUCUTLASS_API_POSTS_A_MINUTE", 120)
EXTERNAL_IDLE_S = env_int("MUCUTLASS_EXTERNAL_IDLE_S", 24 * 3600)

# --- static files: ours from static/, plotly.js and Swagger UI out of installed wheels ------------
STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "mucutlass_web.finders.PlotlyFinder",
    "mucutlass_web.finders.SwaggerFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

# --- language and time ----------------------------------------------------------------------------
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {"quiet_links": {"()": "mucutlass_web.quiet_links.QuietLinks"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env_str("MUCUTLASS_LOG_LEVEL", "INFO")},
    "loggers": {
        # At finer levels these write requests with their headers and prompts.
        **{name: {"level": "WARNING"} for name in ("openai", "httpx2", "httpcore2")},
        # These write the path of what was refused.
        **{name: {"filters": ["quiet_links"]} for name in ("django.request", "django.security.csrf")},
    },
}
