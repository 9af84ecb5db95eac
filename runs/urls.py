"""Addresses of runs, candidates, problems, the playground and the fleet. Every page is for signed-in people."""

from __future__ import annotations

from django.urls import path

from runs.views import (
    actions,
    candidate,
    exports,
    fleet,
    launch,
    live,
    playground,
    problems,
    profiles,
    runs,
    search,
)

run_urls = [
    path("runs/", runs.run_list, name="runs-list"),
    path("runs/new/", launch.launch_page, name="runs-new"),
    path("runs/new/summary/", launch.launch_summary, name="runs-new-summary"),
    path("runs/<int:pk>/", runs.run_page, name="run"),
    path("runs/<int:pk>/live/", live.run_live, name="run-live"),
    path("runs/<int:pk>/chart.json", live.run_chart, name="run-chart"),
    path("runs/<int:pk>/numbers/", live.run_numbers, name="run-numbers"),
    path("runs/<int:pk>/chart.csv", live.run_csv, name="run-csv"),
    path("runs/<int:pk>/attempts/", runs.run_attempts, name="run-attempts"),
    path("runs/<int:pk>/cancel/", actions.run_cancel, name="run-cancel"),
]
candidate_urls = [
    path("runs/<int:pk>/<path:slug>/<int:number>/code/", candidate.candidate_unit, name="candidate-code"),
    path("runs/<int:pk>/<path:slug>/<int:number>/state/", candidate.candidate_state, name="candidate-state"),
    path(
        "runs/<int:pk>/<path:slug>/<int:number>/listing/<slug:unit>/<slug:kind>/",
        candidate.candidate_listing,
        name="candidate-listing",
    ),
    path(
        "runs/<int:pk>/<path:slug>/<int:number>/listing/<slug:unit>/<slug:kind>/make/",
        actions.candidate_disassemble,
        name="candidate-disassemble",
    ),
    path(
        "runs/<int:pk>/<path:slug>/<int:number>/export/<slug:target>/",
        exports.candidate_export,
        name="candidate-export",
    ),
    path("runs/<int:pk>/<path:slug>/<int:number>/profile/", profiles.profile_panel, name="candidate-profile"),
    path(
        "runs/<int:pk>/<path:slug>/<int:number>/profile/make/",
        actions.candidate_profile,
        name="candidate-profile-make",
    ),
    path(
        "runs/<int:pk>/<path:slug>/<int:number>/profile/<int:row>.<slug:form>",
        profiles.profile_file,
        name="candidate-profile-file",
    ),
    path(
        "runs/<int:pk>/<path:slug>/<int:number>/sm_90a/",
        actions.candidate_cross_build,
        name="candidate-cross-build",
    ),
    path("runs/<int:pk>/<path:slug>/<int:number>/", candidate.candidate, name="candidate"),
]
problem_urls = [
    path("problems/", problems.problem_list, name="problems-list"),
    path("problems/<path:slug>/", problems.problem_page, name="problem"),
]
urlpatterns = [
    *run_urls,
    *candidate_urls,
    *problem_urls,
    path("playground/", playground.playground, name="playground"),
    path("playground/check/", playground.playground_check, name="playground-check"),
    path("fleet/", fleet.fleet, name="fleet"),
    path("search/", search.search, name="search"),
]
