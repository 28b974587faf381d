"""All of Studio by keyboard alone, with the focus in sight, and without barriers that axe finds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from studio_tests.browsing import POLICY, User, studio
from voile_testing.processes import FOCUSED, Typist, barriers

pytestmark = pytest.mark.slow


def grouped(value: str, *, there: bool = True) -> str:
    """Whether the tree has a group."""
    return f"() => {'!!' if there else '!'}document.querySelector(`input[value='{value}']`)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small table and a policy."""
    draw = random.Random(3)
    lines = ["age,town,diagnosis"]
    lines += [
        f"{draw.randrange(20, 80)},{draw.choice('abcd')},{draw.choice(('x', 'y'))}"
        for _ in range(150)
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_from_the_plan_to_a_signature_by_keyboard(folder: Path, user: User):
    """Roles, levels, a try, a release, ticks and a signature; nobody clicks."""
    typist = Typist(user.page)
    with studio(folder / "people.csv") as address:
        user.enter(address)
        typist.go_to("text=Go on to the plan")
        typist.press("Enter")
        plan(typist)
        levels(typist)
        try_and_publish(typist)
        sign(typist)
    assert user.complaints == []


def plan(typist: Typist) -> None:
    """Change a role, and find the focus where it was."""
    typist.go_to("#role-1")
    typist.page.keyboard.type("quasi-identifier")
    typist.until("() => document.querySelector('#role-1').value === 'quasi_identifiers'")
    typist.until("() => !document.querySelector('.htmx-request')")
    assert typist.page.evaluate(f"() => {FOCUSED}.id") == "role-1"
    typist.go_to("a[href$='/plan/column/1']")
    typist.press("Enter")


def levels(typist: Typist) -> None:
    """Begin a tree; merge, rename, order, widen, split."""
    typist.go_to("text=Begin a tree of its values")
    typist.press("Enter")
    typist.page.wait_for_selector("ul.tree")
    first, second = typist.groups()[:2]
    typist.tick(first, second)
    typist.go_to("#called", back=True)
    typist.page.keyboard.type("coast")
    typist.press("Enter")
    typist.until(grouped("1:coast"))
    typist.tick("1:coast")
    typist.go_to("#called", back=True)
    typist.page.keyboard.type("shore")
    typist.go_to("#deed-rename")
    typist.press("Enter")
    typist.until(grouped("1:shore"))
    assert typist.page.evaluate(f"() => {FOCUSED}.id") == "deed-rename"
    assert typist.page.locator("input[value='1:shore']").is_checked()
    typist.go_to("#deed-down")
    typist.press("Enter")
    typist.until("() => document.querySelector('input[name=group]').value !== '1:shore'")
    typist.go_to("#deed-widen")
    typist.press("Enter")
    typist.until(grouped("2:shore"))
    typist.tick("1:shore")
    typist.go_to("#deed-split", back=True)
    typist.press("Enter")
    typist.until(grouped("1:shore", there=False))


def try_and_publish(typist: Typist) -> None:
    """Try two plans, look at one by the picture, use it, publish."""
    typist.go_to("nav a[href$='/try']")
    typist.press("Enter")
    typist.go_to('form[aria-label="k-anonymity (generalization)"] button')
    typist.press("Enter")
    typist.page.wait_for_selector("svg.picture a")
    typist.go_to("svg.picture a")
    typist.press("Enter")
    typist.go_to("text=Use this one")
    typist.press("Enter")
    typist.go_to("button.deed")
    typist.press("Enter")
    typist.page.wait_for_selector("text=Release 1")


def sign(typist: Typist) -> None:
    """Hold the release against the policy, tick everything, sign."""
    typist.go_to("nav a[href$='/evidence']")
    typist.press("Enter")
    typist.go_to("select[name=policy]")
    typist.page.keyboard.type("policy.toml")
    typist.go_to("text=Check against this policy")
    typist.press("Enter")
    boxes = typist.page.locator(".assumptions input[type=checkbox]")
    boxes.first.wait_for()
    for number in range(boxes.count()):
        typist.go_to(f".assumptions label:nth-of-type({number + 1}) input")
        typist.press("Space")
    typist.go_to("input[name=by]")
    typist.page.keyboard.type("officer")
    typist.press("Enter")
    typist.until(
        "() => document.querySelector('.rulings') && !document.querySelector('.job') "
        "&& !document.querySelector('.rulings .unmet')"
    )
    typist.go_to("nav a[href$='/sign']")
    typist.press("Enter")
    typist.go_to("text=Make a key to sign with")
    typist.press("Enter")
    typist.go_to("input[name=role]")
    typist.page.keyboard.type("officer")
    typist.press("Enter")
    typist.page.wait_for_selector("text=Signed by")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(folder: Path, browser: Any, scheme: str):
    """On the screens of a new project, wide and narrow."""
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    user = User(context.new_page())
    with studio(folder / "people.csv") as address:
        user.enter(address)
        home = address.partition("/enter")[0]
        for path in ("data", "plan", "plan/column/1", "try", "evidence", "sign", "ledger", "audit"):
            for width in (1440, 390):
                user.page.set_viewport_size({"width": width, "height": 900})
                user.page.goto(f"{home}/p/people/{path}")
                user.page.evaluate("document.querySelectorAll('details').forEach(d => d.open=true)")
                assert barriers(user.page) == [], f"{path} at {width}"
    context.close()
