"""Data classes whose methods are compiled when they are called, held to the standard library's."""

import copy
import os
import pickle
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, InitVar, field, fields, is_dataclass, replace
from dataclasses import dataclass as standard
from itertools import product
from typing import ClassVar, Generic, TypeVar

import pytest

from voile_base.ondemand import dataclass, pattern_on_demand

T = TypeVar("T")
OPTIONS = [{"frozen": frozen, "eq": eq} for frozen, eq in product((False, True), repeat=2)]


def made(decorate, **options):
    """A class with fields of all sorts."""

    @decorate(**options)
    class Parcel(Generic[T]):
        weight: int
        name: "str" = "a"
        tags: list = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        factor: InitVar[int] = 1
        unit: ClassVar[str] = "kg"

        def __post_init__(self, factor):
            object.__setattr__(self, "hidden", self.hidden * factor)

    return Parcel


@dataclass(frozen=True)
class Place:
    """Where a thing stands."""

    x: int
    y: tuple[int, ...] = ()


@standard(frozen=True)
class Named(Place):
    """By the decorator of the standard library, from a class of ours."""

    name: str = ""


@dataclass(frozen=True)
class Renamed(Named):
    """And again by ours."""

    other: str = ""


def outcome(call, *arguments, **named):
    """What a call gives, or the error that it raises."""
    try:
        return call(*arguments, **named)
    except (TypeError, FrozenInstanceError) as error:
        return type(error), str(error)


def bare(kind):
    """An object that its class has not made."""
    one = object.__new__(kind)
    for name, value in (("weight", 1), ("name", "a"), ("tags", []), ("hidden", 3)):
        object.__setattr__(one, name, value)
    return one


BEHAVIOUR = {
    "init": lambda kind: vars(kind(4, "b", factor=2)),
    "repr": lambda kind: repr(bare(kind)),
    "eq": lambda kind: [bare(kind) == other for other in (kind(1), kind(1, tags=[1]), kind(2), 1)],
    "hash": lambda kind: len({bare(kind), bare(kind)}),
    "defaults": lambda kind: repr(kind(2, factor=2)),
    "hashes": lambda kind: (kind.__hash__ is None, kind.__hash__ is object.__hash__),
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, wrong=2),
    "assigned": lambda kind: setattr(bare(kind), "weight", 2),
    "new attribute": lambda kind: setattr(bare(kind), "colour", 2),
    "deleted": lambda kind: delattr(bare(kind), "name"),
    "replaced": lambda kind: vars(replace(kind(5), name="b", factor=1)),
    "fields": lambda kind: [each.name for each in fields(kind) if is_dataclass(kind)],
    "matched": lambda kind: kind.__match_args__,
    "copied": lambda kind: vars(copy.deepcopy(kind(3))),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("first", ["init", "repr", "eq", "hash"])
def test_classes_behave_as_those_of_the_standard_library(options, first):
    """Fields, texts, equality, hashes, errors and copies, whichever method is called first."""
    ours, theirs = made(dataclass, **options), made(standard, **options)
    assert outcome(BEHAVIOUR[first], ours) == outcome(BEHAVIOUR[first], theirs)
    for name, behave in BEHAVIOUR.items():
        assert outcome(behave, ours) == outcome(behave, theirs), name


def test_classes_inherit_from_each_other_whichever_made_them():
    """A class of the standard library may inherit from ours, and ours from it."""
    last = Renamed(1, (2,), "a", "b")
    assert last == Renamed(1, (2,), "a", "b") != Renamed(2)
    assert Named(1) != Place(1)
    assert pickle.loads(pickle.dumps((last, Place(1)))) == (last, Place(1))
    assert {Place(1): 2}[Place(1)] == 2
    with pytest.raises(FrozenInstanceError):
        last.x = 3


def test_methods_of_a_class_stay_its_own():
    """What a class says itself, or a decorator puts there, is not replaced."""

    @dataclass(frozen=True)
    class Told:
        x: int

        def __repr__(self):
            return "told"

    wrapped = made(dataclass, frozen=True)
    construct = wrapped.__init__
    wrapped.__init__ = lambda self, *given, **named: construct(self, 7, **named)
    assert repr(Told(1)) == "told"
    assert wrapped(1).weight == wrapped(2).weight == 7
    assert repr(wrapped(1)).endswith("Parcel(weight=7, name='a', tags=[])")
    assert wrapped(3).weight == 7


def test_patterns_are_compiled_when_they_are_used_and_answer_as_those_of_the_library():
    ours = pattern_on_demand(r"(\d+)([a-z]?)", re.IGNORECASE)
    assert vars(ours).keys() == {"_given"}
    theirs = re.compile(r"(\d+)([a-z]?)", re.IGNORECASE)
    for text in ("12A", "x", ""):
        for name in ("fullmatch", "match", "search"):
            found, wanted = getattr(ours, name)(text), getattr(theirs, name)(text)
            assert (found and found.groups()) == (wanted and wanted.groups())
    assert ours.sub("-", "1a, 2") == "-, -"
    assert (ours.pattern, ours.flags) == (theirs.pattern, theirs.flags)
    assert pickle.loads(pickle.dumps(ours)).fullmatch("7")
    assert copy.copy(ours).search("7")
    assert not hasattr(ours, "other")
    with pytest.raises(re.error):
        pattern_on_demand("(").search("")


def test_a_command_hides_pandas_from_scikit_learn_and_from_nobody_else(tmp_path):
    """Scikit-learn goes on as where pandas is not installed; whoever else asks has it."""
    (tmp_path / "pandas.py").write_text("")
    (tmp_path / "sklearn.py").write_text(
        "try:\n    import pandas\n    found = True\nexcept ImportError:\n    found = False\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", "from voile_base import ondemand\n"
         "ondemand.leave_loaded_out_of_searches()\nondemand.leave_pandas_unloaded()\n"
         "import sklearn, sys\nprint(sklearn.found, 'pandas' in sys.modules)\nimport pandas"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.stdout.split(), run.stderr) == (["False", "False"], "")


def test_hashes_are_those_of_the_standard_library():
    """Of the fields that are compared, or that are said to be hashed, in their order."""

    def made_by(decorate):
        @decorate(frozen=True)
        class Parcel:
            weight: int
            tags: list = field(default_factory=list, compare=False)
            name: str = field(default="a", hash=False)
            size: tuple = (1, 2)

        return Parcel

    ours, theirs = made_by(dataclass), made_by(standard)
    assert hash(ours(4)) == hash(theirs(4)) == hash(ours(4, [1], "b"))
    assert hash(dataclass(frozen=True)(type("Empty", (), {}))()) == hash(())
    with pytest.raises(TypeError, match="unhashable"):
        hash(ours(4, size=[]))
