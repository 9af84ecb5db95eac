"""Addresses of the speed of light and of problems' flaws. Every page is for signed-in people."""

from __future__ import annotations

from django.urls import path

from sol import views

urlpatterns = [
    path("problems/<path:slug>/sol/", views.problem_sol, name="problem-sol"),
    path("problems/<path:slug>/audit/", views.problem_audit, name="problem-audit"),
]
