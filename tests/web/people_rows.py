"""Accounts with roles, teams and deeds for page tests."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from runs.models import Person, Team
from runs.roles import Role


def member(name: str, role: Role) -> User:
    """An account with a role and the password "secret-pass"."""
    user = User.objects.create_user(name, password="secret-pass")
    Person.objects.create(user=user, role=role.value)
    return User.objects.select_related("person").get(pk=user.pk)


def browser_of(user: User) -> Client:
    """A browser in which somebody is signed in."""
    client = Client()
    client.force_login(user)
    return client


def team(name: str, *members: User) -> Team:
    """A team with people in it."""
    made = Team.objects.create(name=name)
    made.members.add(*members)
    return made
