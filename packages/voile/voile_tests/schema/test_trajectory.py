"""Columns of trajectories in a plan: defaults where the method needs them, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from voile.publish.registry import completed
from voile.schema.plan import Plan
from voile.schema.plan import parse_plan as parse_stated
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import PlanError

GEO = {"name": "geo-indistinguishability"}


def parse_plan(document: dict[str, Any], folder: str = ".") -> Plan:
    """A plan with what its method takes for granted."""
    return completed(parse_stated(document, folder), folder)


def test_defaults():
    """A plan for trajectories has the four names; any other plan has none."""
    assert parse_plan({"method": GEO}).trajectory == TrajectoryColumns()
    assert parse_plan({"method": {"name": "ke-anonymity"}}).trajectory is None
    assert parse_plan({}).trajectory is None
    assert parse_plan({"method": GEO}).used == ("trip", "time", "latitude", "longitude")


def test_other_methods_are_not_disturbed():
    """A column named time is like all others where nobody publishes trajectories."""
    plan = parse_plan({"roles": {"keep": ["time"]}, "method": {"name": "generalization"}})
    plan.bind(["time"])
    assert plan.used == ("time",)


def test_names_of_the_plan():
    """Each column may be named, and a destination."""
    roles = {"trip": "id", "latitude": "lat", "destination": ["a", "b"], "keep": ["load"]}
    plan = parse_plan({"roles": roles, "method": GEO})
    assert plan.trajectory == TrajectoryColumns("id", "time", "lat", "longitude", ("a", "b"))
    assert plan.used == ("load", "id", "time", "lat", "longitude", "a", "b")
    with pytest.raises(PlanError, match=r"\[roles\] longitude is the column 'longitude'.*did you"):
        plan.bind(["id", "time", "lat", "longitud", "a", "b", "load"])


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"trip": ["id"]}, r"\[roles\] trip must be the name of one column"),
        ({"time": ""}, r"\[roles\] time must be the name of one column"),
        ({"latitude": "x", "longitude": "x"}, "latitude, longitude must name different columns$"),
        ({"trip": "x", "vehicle": "x"}, "trip, vehicle must name .* add a column of trips"),
        ({"destination": "x"}, "destination must be two columns"),
        ({"destination": ["x", 1]}, "destination must be two columns"),
        ({"keep": ["time"]}, "column 'time' is named in keep and is the time of a trajectory"),
        ({"identifiers": ["trip"]}, "column 'trip' is named in identifiers"),
        ({"tripp": "x"}, "unknown key 'tripp'; did you mean 'trip'"),
    ],
)
def test_mistakes(roles, message):
    """Each is told with the key."""
    with pytest.raises(PlanError, match=message):
        parse_plan({"roles": roles, "method": GEO})


def test_a_plan_in_python():
    """The columns are a part of the plan, checked against its roles."""
    with pytest.raises(PlanError, match="give it one role"):
        Plan(Roles(keep=("trip",)), trajectory=TrajectoryColumns())


def test_maps_are_looked_for_in_the_folder_of_the_plan():
    """A map and its nodes, unless they say from the root where they are; no other method's keys."""
    method = {**GEO, "roads": "city.osm", "roads_nodes": "/maps/nodes.csv"}
    parameters = parse_plan({"method": method}, "plans").method.parameters
    assert Path(parameters["roads"]) == Path("plans/city.osm")
    assert parameters["roads_nodes"] == "/maps/nodes.csv"
    other = parse_plan({"method": {"name": "ke-anonymity", "roads": "city.osm"}}, "plans")
    assert other.method.parameters == {"roads": "city.osm"}
