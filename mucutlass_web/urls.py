"""Where each page is served."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from mucutlass_web import sso, views

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("sign-in/", views.SignInView.as_view(), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("enter/<str:secret>/", views.enter, name="enter"),
    path("sso/start/", sso.SsoStart.as_view(), name="sso-start"),
    path("sso/callback/", sso.SsoCallback.as_view(), name="sso-callback"),
    path("", include("sol.urls")),
    path("", include("runs.urls")),
]
