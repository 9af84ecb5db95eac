"""Where each page is served."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from mucutlass_web import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("sign-in/", views.SignInView.as_view(), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("enter/<str:secret>/", views.enter, name="enter"),
    path("", include("sol.urls")),
    path("", include("runs.urls")),
]
