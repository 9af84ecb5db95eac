"""Addresses of runs, candidates, problems, lessons, playground and fleet. Every page is for signed-in people."""

from __future__ import annotations

from django.urls import include, path

from runs.views import (
    actions,
    api,
    candidate,
    exports,
    feedback,
    fleet,
    gap,
    launch,
    lessons,
    live,
    playground,
    problems,
    profiles,
    replay,
    runs,
    search,
    tokens,
    transcripts,
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
    path("runs/<int:pk>/gap/", gap.gap_page, name="run-gap"),
    path("runs/<int:pk>/gap/charts.json", gap.gap_figures, name="run-gap-figures"),
    path("runs/<int:pk>/gap/<slug:key>.csv", gap.gap_csv, name="run-gap-csv"),
    path("runs/<int:pk>/gap/<slug:key>/numbers/", gap.gap_numbers, name="run-gap-numbers"),
    path("runs/<int:pk>/attempts/", runs.run_attempts, name="run-attempts"),
    path("runs/<int:pk>/cancel/", actions.run_cancel, name="run-cancel"),
    path("runs/<int:pk>/replay/", replay.replay_page, name="run-replay"),
    path("runs/<int:pk>/replay/chart.json", replay.replay_chart, name="run-replay-chart"),
    path("runs/<int:pk>/replay/replay.csv", replay.replay_csv, name="run-replay-csv"),
]
candidate_urls = [
    path("runs/<int:pk>/<path:slug>/transcript/", transcripts.transcript, name="transcript"),
    path("runs/<int:pk>/<path:slug>/transcript.json", transcripts.transcript_json, name="transcript-json"),
    path("runs/<int:pk>/<path:slug>/transcript/<int:call>/", transcripts.transcript_call, name="transcript-call"),
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
api_urls = [
    path("api/", api.api_page, name="api"),
    path("api/v1/openapi.json", api.openapi, name="api-openapi"),
    path("api/v1/", include("runs.api.service")),
    path("account/tokens/", tokens.token_page, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", tokens.token_revoke, name="token-revoke"),
]
lesson_urls = [
    path("lessons/", lessons.lesson_list, name="lessons"),
    path("lessons/<int:pk>/", lessons.lesson_detail, name="lesson"),
    path("lessons/<int:pk>/edit/", lessons.lesson_edit, name="lesson-edit"),
    path("lessons/<int:pk>/retire/", lessons.lesson_retire, name="lesson-retire"),
    path("lessons/<int:pk>/restore/", lessons.lesson_restore, name="lesson-restore"),
]
urlpatterns = [
    *run_urls,
    *candidate_urls,
    *problem_urls,
    *lesson_urls,
    *api_urls,
    path("playground/", playground.playground, name="playground"),
    path("playground/check/", playground.playground_check, name="playground-check"),
    path("feedback/", feedback.feedback_list, name="feedback"),
    path("feedback/<slug:tool>/", feedback.feedback_tool, name="feedback-tool"),
    path("fleet/", fleet.fleet, name="fleet"),
    path("search/", search.search, name="search"),
]
