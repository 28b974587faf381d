"""``verify.html``: a recipient without Python sees in a browser what ``voile recount`` says."""

from __future__ import annotations

import base64
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from voile.release.recounting import Recount
from voile_base.errors import VoileError
from voile_testing.processes import BrowserUser, browser
from voile_tests.policy.cases import policy, studied, voile
from voile_tests.release.makes import METHODS, make
from voile_tests.release.mutants import mutant
from voile_tests.release.test_words import WORDS, edited

__all__ = ["browser"]

NOT_COUNTED = {"flows", "local-suppression", "microaggregation"}
NOT_COUNTED |= {"pram", "noise", "rank-swapping", "record-swapping", "shuffling"}
COUNTED = sorted(set(METHODS) - NOT_COUNTED)
"""Methods of which the page counts all that Python does."""
RELEASES = int(os.environ.get("VOILE_RELEASES", "44"))
"""How many are made and compared; 2,000 with 10,176 mutants take a quarter of an hour."""
FIRST = int(os.environ.get("VOILE_RELEASES_FROM", "0"))
"""Number of the first, by which a long run is divided."""
MUTANTS = 8
"""Of each release of which the page counts all."""
_IN_PAGE = """async (files) => {
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const folder = new Map(Object.entries(files).map(([name, text]) => [name, bytes(text)]));
    const found = await recount(folder, async (name) => folder.get(name));
    return [verdict_of(found)[0], ...found.broken];
}"""

Told = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release of each method, in CSV."""
    folder = tmp_path_factory.mktemp("good")
    return {name: make(name, folder, 1, k=5, file_format="csv")[0] for name in METHODS}


@pytest.fixture(scope="module")
def told(browser: Any, good: dict[str, Path]) -> Iterator[Told]:
    """What the page's own function says of a folder, without choosing it by hand."""
    page = browser.new_context(bypass_csp=True).new_page()
    page.goto((good["ranking"] / "verify.html").as_uri())

    def ask(folder: Path) -> list[str]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        texts = {
            path.relative_to(folder).as_posix(): base64.b64encode(path.read_bytes()).decode()
            for path in files
        }
        answer: list[str] = page.evaluate(_IN_PAGE, texts)
        return answer

    yield ask
    page.context.close()


def _by_python(folder: Path) -> str:
    try:
        found = Recount.of(folder)
    except VoileError:
        return "broken"
    return "broken" if found.breaches or found.unknown else "holds"


@pytest.mark.parametrize("method", METHODS)
def test_a_good_release_holds(good: dict[str, Path], told: Told, method: str) -> None:
    """Of any method; of what it does not count, the page says so."""
    assert told(good[method]) == ["holds" if method in COUNTED else "partly"]


@pytest.mark.parametrize("name", WORDS)
def test_the_page_says_in_the_words_of_python_what_does_not_follow_from_claims(
    told: Told, tmp_path: Path, name: str
) -> None:
    """A statement, an assumption or a parameter that nobody checks is broken in a browser, too."""
    edit, sentence = WORDS[name]
    release = make("generalization", tmp_path, file_format="csv")[0]
    folder = edited(release, tmp_path / "edited", edit)
    verdict, *found = told(folder)
    assert verdict == "broken"
    assert sentence in found


@pytest.mark.slow
def test_mutants_with_mended_hashes_get_the_verdict_of_python(good, told, tmp_path):
    """Sixty of them, drawn from all methods; some hold and some do not."""
    dice, verdicts = random.Random(1), []
    for one in range(60):
        folder = mutant(good[dice.choice(COUNTED)], tmp_path / f"{one}", dice)
        verdicts.append(_by_python(folder))
        assert told(folder)[0] == verdicts[-1], f"{folder}: Python says that it {verdicts[-1]}"
    assert min(verdicts.count("broken"), verdicts.count("holds")) > 60 / 8


@pytest.mark.slow
def test_many_releases_and_their_mutants_get_the_verdict_of_python(told, tmp_path):
    """Each of other people, methods in turn, and some mutants of each; ``VOILE_RELEASES`` more."""
    apart, verdicts = [], []
    for number in range(FIRST, FIRST + RELEASES):
        method, dice = [*METHODS][number % len(METHODS)], random.Random(number)
        place = tmp_path / f"{number}"
        place.mkdir()
        made = make(method, place, number, k=dice.choice((3, 5, 8)), file_format="csv")[0]
        counted = method in COUNTED
        if (_by_python(made), told(made)) != ("holds", ["holds" if counted else "partly"]):
            apart.append((number, "the release itself"))
        for one in range(MUTANTS if counted else 0):
            folder = mutant(made, place / f"mutant {one}", dice)
            verdicts.append(_by_python(folder))
            if told(folder)[0] != verdicts[-1]:
                apart.append((number, f"mutant {one}: Python says that it {verdicts[-1]}"))
        shutil.rmtree(place)
    assert not apart
    assert min(verdicts.count("broken"), verdicts.count("holds")) > len(verdicts) / 8


@pytest.mark.slow
def test_any_changed_byte_is_seen(good, told, tmp_path):
    """Of the rows, of the page, and of the hashes themselves; files that come or go, too."""
    dice = random.Random(3)
    folder = shutil.copytree(good["mondrian"], tmp_path / "copy")
    for name in ("data.csv", "verify.html"):
        content = (folder / name).read_bytes()
        for _ in range(10):
            changed = bytearray(content)
            changed[dice.randrange(len(content))] ^= 1 << dice.randrange(7)
            (folder / name).write_bytes(changed)
            assert told(folder) == [
                "broken",
                f"{name}: this file was changed since it was published",
            ]
        (folder / name).unlink()
        assert told(folder) == ["broken", f"{name}: this part of the release is missing"]
        (folder / name).write_bytes(content)
    (folder / "data.parquet").write_bytes(b"more")
    assert told(folder) == ["broken", "data.parquet: the release does not list this file"]


@pytest.mark.slow
def test_signatures_are_compared(told, tmp_path):
    """Of what somebody has signed, nothing may change, come or go, and the key must fit."""
    place = studied(tmp_path)
    signer = '[[signers]]\nrole = "officer"\n'
    stated = policy(tmp_path, 'kind = "group-size"\nleast = 1', more=signer)
    assert voile("key", tmp_path / "key").exit_code == 0
    voile("check", place, "--policy", stated)
    signed = voile("sign", place, "--key", tmp_path / "key", "--as", "officer")
    assert signed.exit_code == 0, signed.output
    public = place / "release"
    assert told(public)[0] != "broken", told(public)
    path = public / "signatures.json"
    text = path.read_text()
    path.write_text(text.replace('"signature": "', '"signature": "00', 1))
    assert "the signature as 'officer' does not hold" in told(public)[1]
    path.write_text(text)
    (public / "note.txt").write_text("by nobody")
    assert "note.txt: nobody has signed this file" in told(public)


@pytest.mark.slow
def test_a_folder_that_is_chosen_is_told_and_nothing_is_asked(browser, good, tmp_path):
    """From a file address, under the page's own policy: the verdict in words, and no request."""
    user = BrowserUser(browser.new_page())
    page = user.page
    address = (good["ke-anonymity"] / "verify.html").as_uri()
    page.goto(address)
    page.set_input_files("#folder", good["ke-anonymity"])
    page.get_by_text("Nothing in this folder contradicts what the release claims").wait_for()
    assert page.locator("#found .holds").count() == 0  # nobody has signed it
    assert "Claim ke-anonymity (k = 5, e = 50): holds." in page.inner_text("#found")
    page.set_input_files("#folder", good["suppressing"])
    page.get_by_text("up to 20 % of the rows left out): not contradicted by the rows").wait_for()
    assert "up to 20 % of the rows left out" in voile("recount", good["suppressing"]).stdout
    page.set_input_files("#folder", shutil.copytree(good["ranking"], tmp_path / "some" / "folder"))
    page.get_by_text("Nothing in this folder contradicts what the release claims").wait_for()
    page.get_by_text("Not visible in the rows: the precision of boxes").wait_for()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.txt").write_text("nothing")
    page.set_input_files("#folder", tmp_path / "none")
    page.get_by_text("This is not a release: it has no release.json").wait_for()
    page.evaluate("document.title")
    assert (user.asked, user.complaints) == ([address], [])
    page.context.close()


@pytest.mark.slow
def test_the_key_that_a_recipient_pastes_is_compared_with_that_of_the_signature(browser, tmp_path):
    """Another key is told as such before anything else, and nothing is asked of any server."""
    place = studied(tmp_path)
    stated = policy(
        tmp_path, 'kind = "group-size"\nleast = 1', more='[[signers]]\nrole = "officer"\n'
    )
    assert voile("key", tmp_path / "key").exit_code == 0
    assert voile("key", tmp_path / "other").exit_code == 0
    voile("check", place, "--policy", stated)
    signed = voile("sign", place, "--key", tmp_path / "key", "--as", "officer")
    assert signed.exit_code == 0, signed.output
    public = place / "release"
    ours, others = ((tmp_path / f"{name}.pub").read_text().strip() for name in ("key", "other"))
    assert not any(ours in path.name for path in public.iterdir())
    user = BrowserUser(browser.new_page())
    page, address = user.page, (public / "verify.html").as_uri()
    page.goto(address)
    page.set_input_files("#folder", public)
    page.locator("#found .key.partly").wait_for()
    for key, kind, words in (
        (ours, "holds", "is that of the signature as 'officer'"),
        (ours.removeprefix("ed25519:").upper(), "holds", "is that of the signature"),
        (others, "broken", "another has signed it"),
        ("ed25519:12", "broken", "is no public key"),
    ):
        page.fill("#key", key)
        page.locator(f"#found .key.{kind}").wait_for()
        assert words in page.inner_text("#found .key")
        assert page.locator("#found > .key.broken:first-child").count() == (kind == "broken")
    (public / "signatures.json").unlink()
    page.fill("#key", ours)
    page.set_input_files("#folder", public)
    page.get_by_text("No signature in this folder holds").wait_for()
    page.fill("#key", "")
    page.locator("#found > .key.partly:first-child").wait_for()
    assert page.locator("#found .holds").count() == 0  # nothing is green that nobody has signed
    assert (user.asked, user.complaints) == ([address], [])
    page.context.close()
