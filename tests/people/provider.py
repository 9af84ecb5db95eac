"""An OpenID provider on this machine: discovery, keys, tokens and who somebody is, each bent as a test wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """What it says; ``claims`` go into the token, ``told`` comes from its user endpoint."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.nonce = ""
        self.key = KEY
        self.claims: dict[str, Any] = {}
        self.told: dict[str, Any] = {
            "sub": "s-1",
            "email": "zoe@example.org",
            "email_verified": True,
            "preferred_username": "zoe",
            "groups": ["kernels"],
        }
        self.asked: dict[str, list[str]] = {}

    def token(self) -> str:
        """A token of the right shape, but for what ``claims`` changes."""
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": "mu", "sub": "s-1", "iat": now, "exp": now + 300, "nonce": self.nonce,
            **self.claims,
        }  # fmt: skip
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "k1"})

    def answer(self, path: str) -> dict[str, Any]:
        """What it says at an address."""
        if path.endswith("openid-configuration"):
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
            }
        if path == "/keys":
            jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            return {"keys": [{**jwk, "kid": "k1", "alg": "RS256", "use": "sig"}]}
        return {"access_token": "at", "id_token": self.token()} if path == "/token" else self.told


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(said.answer(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            said.asked = parse_qs(body)
            self._send(said.answer(self.path))

        def _send(self, form: dict[str, Any]) -> None:
            text = json.dumps(form).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    said = Provider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield said
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
