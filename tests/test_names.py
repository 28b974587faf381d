"""The count of places that ask for the name of a method, which ``test_walls`` keeps at none."""

from __future__ import annotations

import ast

from tools.count_names import _lines, asked_names


def test_the_count_sees_what_it_counts() -> None:
    """Each way to ask for a name is found, and a mere mention is not."""
    code = """
        if release.guarantee.kind == other: pass
        if method["name"] in known: pass
        match plan.method.name:
            case "m-shuffle": pass
        CHECKS = {"ke-anonymity": 1}
        SHOWN = ("generalization", "mondrian")
        if which in {"planar-laplace"}: pass
        found = by_name["k-anonymity"]
        if method.get("mechanism") is None: pass
        text = "k-anonymity"
        kind: Literal["k-anonymity"] = "k-anonymity"
    """
    lines = "\n".join(line[8:] for line in code.splitlines())
    assert set(_lines(ast.parse(lines), asked_names())) == {2, 3, 4, 5, 6, 7, 8, 9, 10}
