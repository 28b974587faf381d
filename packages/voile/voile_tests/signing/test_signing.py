"""What was signed is unaltered, or ``verify`` says what was changed: every file, every byte."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from voile.policy.case import files_in
from voile.signing import (
    Signature,
    Signed,
    Statement,
    auditor_of,
    message_of,
    new_key,
    public_key,
    public_text,
    read_key,
    sign_audit,
    verify,
    write_signed,
)
from voile_base.errors import InputError, RefusedError
from voile_base.operating_system import user
from voile_base.values.value import read
from voile_tests.policy.cases import ORIGINAL, audited, policy, studied, voile

PASSES = 'kind = "group-size"\nleast = 1'


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys of two signers, and a policy that names the first."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("officer", "board"):
        new_key(folder / name)
    signer = f'[[signers]]\nrole = "officer"\nkey = "{_public(folder / "officer")}"\n'
    policy(folder, PASSES, more=signer + '[[signers]]\nrole = "board"\n')
    return folder


@pytest.fixture(scope="module", params=["study", "audit"])
def signed(
    request: pytest.FixtureRequest, keys: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A study and an audit that two have signed."""
    folder = tmp_path_factory.mktemp("signed")
    place = studied(folder) if request.param == "study" else audited(folder, ORIGINAL)
    assert voile("check", place, "--policy", keys / "policy.toml").exit_code == 4
    for role in ("officer", "board"):
        found = voile("sign", place, "--key", keys / role, "--as", role)
        assert found.exit_code == 0, found.output
    return place


def _public(path: Path) -> str:
    return voile("key", path, "--show").stdout.strip()


def test_what_was_signed_is_unaltered_and_never_trusted(signed: Path, keys: Path) -> None:
    """Without a key that somebody vouches for, the key is unknown, and is told so."""
    found = voile("verify", signed)
    assert found.exit_code == 0, found.output
    assert f"by the unknown key {_public(keys / 'officer')}" in found.output
    assert "trust" not in found.output
    kind = "study" if (signed / "release").is_dir() else "audit"
    assert Signed.read(next(signed.rglob("signatures.json"))).statement.judged == kind
    found = voile("verify", signed, "--key", _public(keys / "board"))
    assert "the key that you have named" in found.output
    found = voile("verify", signed, "--policy", keys / "policy.toml")
    assert "the key that your policy gives to this role" in found.output
    assert voile("check", signed, "--policy", keys / "policy.toml").exit_code == 0


def test_a_recipient_verifies_the_public_part_alone(signed: Path, tmp_path: Path) -> None:
    """Without the private part, whose commitments are among what was signed."""
    public = next(path.parent for path in signed.rglob("signatures.json"))
    shutil.copytree(public, tmp_path / "received")
    found = verify(tmp_path / "received")
    assert not found.changes
    assert found.private == "not here"
    assert len(found.signatures) == 2


def _places(size: int) -> Iterator[int]:
    """The ends of a file, and places within."""
    yield from {0, 1, size // 3, size // 2, 2 * size // 3, max(size - 2, 0), size - 1}


def _parts(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def test_one_changed_byte_anywhere_is_found(signed: Path) -> None:
    """In every file, at its ends and within: data, documents, verdict, salts, signatures."""
    names = {path.name for path in _parts(signed)}
    assert {"signatures.json", "salts.json", "verdict.json"} <= names
    for path in _parts(signed):
        content = path.read_bytes()
        for place in _places(len(content)):
            changed = bytearray(content)
            changed[place] ^= 1
            path.write_bytes(changed)
            assert verify(signed).changes, f"{path.name}, byte {place}"
        path.write_bytes(content + b" ")
        changes = verify(signed).changes
        assert changes, f"{path.name}, one byte more"
        if path.name in {"signatures.json", "salts.json"}:
            assert changes == (f"{path}: it was changed since it was written",)
        path.write_bytes(content[:-1])
        assert verify(signed).changes, f"{path.name}, one byte less"
        path.write_bytes(content)
    assert not verify(signed).changes


def test_every_field_of_the_signatures_is_signed(signed: Path) -> None:
    """Each text and number of signatures.json, changed to another that could stand there."""
    path = next(signed.rglob("signatures.json"))
    text = path.read_text()
    document = json.loads(text)
    changed = 0
    for keys_, value in _leaves(document):
        other = json.loads(text)
        held = other
        for key in keys_[:-1]:
            held = held[key]
        held[keys_[-1]] = _another(value)
        path.write_text(json.dumps(other, indent=2, ensure_ascii=False) + "\n")
        assert verify(signed).changes, keys_
        changed += 1
    path.write_text(text)
    assert changed > 15


def _leaves(
    held: object, at: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[object, ...], object]]:
    entries = (
        held.items()
        if isinstance(held, dict)
        else enumerate(held)
        if isinstance(held, list)
        else ()
    )
    if not isinstance(held, dict | list):
        yield at, held
    for key, value in entries:
        yield from _leaves(value, (*at, key))


def _another(value: object) -> object:
    if isinstance(value, bool | int):
        return not value if isinstance(value, bool) else value + 1
    assert isinstance(value, str)
    last = "0" if value[-1:] != "0" else "1"
    return value[:-1] + last


def test_files_that_come_or_go_are_found(signed: Path) -> None:
    """In the public part each one, in the private one each that was signed."""
    public = next(signed.rglob("signatures.json")).parent
    (public / "more.csv").write_text("a\n1\n")
    assert any("more.csv was added" in one for one in verify(signed).changes)
    (public / "more.csv").unlink()
    for path in _parts(signed):
        hidden = path.rename(path.with_name(f".{path.name}"))
        if path.name == "signatures.json":
            with pytest.raises(RefusedError, match="nobody has signed"):
                verify(signed)
        else:
            changes = verify(signed).changes
            assert changes, path.name
            if path.name == "salts.json":
                assert changes == (f"{path}: it is missing",)
        hidden.rename(path)


def test_a_folder_elsewhere_is_not_brought_in_by_a_link(signed: Path, tmp_path: Path) -> None:
    """A symbolic link to a folder is no plain file, whatever stands at its end."""
    public = next(signed.rglob("signatures.json")).parent
    (tmp_path / "more.csv").write_text("a\n1\n")
    link = public / "more"
    link.symlink_to(tmp_path)
    try:
        assert any("no plain file" in one for one in verify(signed).changes)
    finally:
        link.unlink()


@pytest.mark.parametrize("beside", [True, False])
def test_what_nobody_has_signed_is_told(signed: Path, tmp_path: Path, *, beside: bool) -> None:
    """In the private part or beside both, it is no change, and is not taken for signed either."""
    copy = tmp_path / "copy"
    shutil.copytree(signed, copy)
    place = copy if beside else next(copy.rglob("salts.json")).parent
    (place / "notes.txt").write_text("later\n")
    name = (place / "notes.txt").relative_to(copy).as_posix()
    found = voile("verify", copy)
    assert found.exit_code == 0
    assert f"Nobody has signed what else stands here: {name!r}." in found.output


def test_what_stands_in_a_private_part_without_evidence_is_told(
    signed: Path, tmp_path: Path
) -> None:
    """A folder that was emptied of evidence may hold anything else, and does not verify."""
    copy = tmp_path / "copy"
    shutil.copytree(signed, copy)
    private = next(copy.rglob("salts.json")).parent
    for path in private.iterdir():
        if path.is_file():
            path.unlink()
    (private / "raw.csv").write_text("later\n")
    found = voile("verify", copy)
    assert found.exit_code == 4
    assert "the private part, which was signed with it" in str(found.exception)
    told = "'raw.csv'" if private == copy else "'private/raw.csv'"
    assert f"Nobody has signed what else stands here: {told}." in found.output


def _resigned(signed: Path, *, keep: int, again: int) -> str:
    """Signatures of which some are taken away, or stand there twice, and the text as it was."""
    path = next(signed.rglob("signatures.json"))
    text = path.read_text()
    document = json.loads(text)
    ones = document["signatures"][:keep]
    document["signatures"] = [*ones, *ones[:again]]
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return text


def test_a_signature_that_was_taken_away_is_missed_where_the_policy_asks_for_it(
    signed: Path,
) -> None:
    """What is left holds, and exit status 0 would say that all is well."""
    text = _resigned(signed, keep=1, again=0)
    try:
        found = voile("verify", signed)
    finally:
        next(signed.rglob("signatures.json")).write_text(text)
    assert found.exit_code == 4
    assert "unaltered since signed as 'officer'" in found.output
    assert "not signed by all whom its policy asks: 'board'" in str(found.exception)


def test_signatures_without_one_are_a_change(signed: Path) -> None:
    """And so nothing says that what stands there is what somebody has signed."""
    text = _resigned(signed, keep=0, again=0)
    try:
        found = verify(signed)
    finally:
        next(signed.rglob("signatures.json")).write_text(text)
    assert (found.changes, found.signatures) == (("it holds no signature",), ())
    assert found.absent == ("officer", "board")


@pytest.mark.parametrize("signed", ["study"], indirect=True)
def test_a_release_alone_is_not_signed(signed: Path, keys: Path, tmp_path: Path) -> None:
    """Neither signed nor attested: its evidence is not here."""
    alone = tmp_path / "alone"
    shutil.copytree(signed / "release", alone, ignore=shutil.ignore_patterns("signatures.json"))
    told = f"{alone}: a release without its evidence cannot be signed; name the folder that study"
    for more in ([], ["--attest", tmp_path / "attested"]):
        found = voile("sign", alone, "--key", keys / "officer", "--as", "officer", *more)
        assert found.exit_code == 2
        assert str(found.exception).startswith(told)


def test_a_role_signs_once(signed: Path) -> None:
    """The same signature twice is a change of signatures.json like any other."""
    text = _resigned(signed, keep=2, again=1)
    try:
        changes = verify(signed).changes
    finally:
        next(signed.rglob("signatures.json")).write_text(text)
    assert any("twice" in one for one in changes)


def test_a_signature_that_the_policy_asks_of_nobody_does_not_verify(
    signed: Path, keys: Path
) -> None:
    """As another role, or by another key than is named: it holds, and it is no signer's."""
    path = next(signed.rglob("signatures.json"))
    text, stated, key = path.read_text(), Signed.read(path), read_key(keys / "board")
    public = public_text(key)

    def by(role: str) -> Signature:
        signature = key.sign(message_of(stated.statement, role, public)).hex()
        return Signature(role=role, key=public, signature=signature)

    officer, board = stated.signatures
    for ones, told in (
        ((officer, board, by("auditor")), "the policy asks nobody to sign as 'auditor'"),
        ((by("officer"), board), "the policy names another key for 'officer' than has signed"),
    ):
        write_signed(path, Signed(statement=stated.statement, signatures=ones))
        try:
            changes = verify(signed).changes
        finally:
            path.write_text(text)
        assert changes == (told,)


@pytest.mark.slow
def test_a_signature_of_another_file_does_not_hold(
    signed: Path, keys: Path, tmp_path: Path
) -> None:
    """Also where only the other's signatures are taken over."""
    other = studied(tmp_path)
    voile("check", other, "--policy", keys / "policy.toml")
    shutil.copy(next(signed.rglob("signatures.json")), other / "release")
    found = voile("verify", other)
    assert found.exit_code == 4
    assert "not as it was signed" in str(found.exception)


def test_a_named_key_must_have_signed(signed: Path, tmp_path: Path) -> None:
    """Somebody else's signature is not taken for it."""
    stranger = public_text(new_key(tmp_path / "key"))
    found = voile("verify", signed, "--key", stranger)
    assert found.exit_code == 4
    assert "nobody has signed with the key that you have named" in str(found.exception)
    policy(tmp_path, 'kind = "group-size"\nleast = 2')
    found = voile("verify", signed, "--policy", tmp_path / "policy.toml")
    assert "another than the one that you have named" in str(found.exception)


def test_private_figures_cannot_be_guessed_from_a_commitment(signed: Path) -> None:
    """Commitments to the same file differ with the salt, and salts never leave."""
    public = next(signed.rglob("signatures.json"))
    stated = json.loads(public.read_text())["statement"]["private"]
    private = {one["file"]: one["commitment"] for one in stated}
    assert "verdict.json" in private
    salts = next(signed.rglob("salts.json"))
    assert salts.stat().st_mode & 0o077 == 0
    assert salts.parent not in public.parents or salts.parent != public.parent
    assert not any(
        salt in public.read_text() for salt in json.loads(salts.read_text())["salts"].values()
    )


@pytest.mark.slow
def test_what_must_not_be_published_is_not_signed(keys: Path, tmp_path: Path) -> None:
    """A seeded release, a verdict that failed, one that is not checked, one of other evidence."""
    folder = studied(tmp_path, "--seed", 1)
    stated = policy(tmp_path, PASSES)
    voile("check", folder, "--policy", stated)
    found = voile("sign", folder, "--key", keys / "board", "--as", "board")
    assert found.exit_code == 4
    assert "made with a seed" in str(found.exception)
    assert not list(folder.rglob("salts.json"))


@pytest.mark.slow
def test_a_verdict_that_does_not_hold_is_not_signed(keys: Path, tmp_path: Path) -> None:
    """None, a failed one, and one that was written by hand or is of what stood there before."""
    folder = studied(tmp_path)
    call = ["sign", folder, "--key", keys / "board", "--as", "board"]
    assert "run voile check first" in str(voile(*call).exception)
    voile("check", folder, "--policy", policy(tmp_path, 'kind = "group-size"\nleast = 399'))
    assert "criteria are not met" in str(voile(*call).exception)
    path = folder / "private" / "verdict.json"
    path.write_text(path.read_text().replace('"passed": false', '"passed": true'))
    assert "run voile check again" in str(voile(*call).exception)
    assert not list(folder.rglob("signatures.json"))
    assert not list(folder.rglob("salts.json"))


@pytest.mark.slow
def test_who_may_sign_is_said_by_the_policy(keys: Path, tmp_path: Path) -> None:
    """Not another role, not another key, not twice; and not what others did not sign."""
    folder = studied(tmp_path)
    voile("check", folder, "--policy", keys / "policy.toml")

    def sign(key: str, role: str) -> str:
        return str(voile("sign", folder, "--key", keys / key, "--as", role).exception)

    assert "did you mean 'officer'?" in sign("officer", "oficer")
    assert "names another key" in sign("board", "officer")
    assert sign("officer", "officer") == "None"
    assert "already" in sign("officer", "officer")
    assert "1 to 100 characters" in sign("board", "a\nb")
    (folder / "private" / "report.html").rename(folder / "private" / "hidden.html")
    assert sign("board", "board") != "None"
    (folder / "private" / "hidden.html").rename(folder / "private" / "report.html")
    path = folder / "release" / "data.csv"
    content = path.read_bytes()
    path.write_bytes(content + b"\n")
    assert sign("board", "board") != "None"
    path.write_bytes(content)
    assert sign("board", "board") == "None"


def test_keys_that_are_not_keys_are_refused(keys: Path, tmp_path: Path) -> None:
    """Each with what is wrong with it, and without what it holds."""
    (tmp_path / "junk").write_text("secret-of-mine")
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "curve").write_bytes(text)
    (tmp_path / "public").write_text(_public(keys / "board"))
    shutil.copy(keys / "board", tmp_path / "open")
    for each in tmp_path.iterdir():
        each.chmod(0o600)
    (tmp_path / "open").chmod(0o644)
    for name, told in {
        "junk": "no unencrypted private key",
        "curve": "another kind than Ed25519",
        "public": "this is a public key",
        "open": "others may read this key",
        "nothing": "cannot be read",
    }.items():
        found = voile("key", tmp_path / name, "--show")
        assert isinstance(found.exception, InputError)
        assert told in str(found.exception)
        assert "secret-of-mine" not in str(found.exception)
    found = voile("verify", tmp_path, "--key", keys / "board")
    assert "never pass it on" in str(found.exception)
    found = voile("verify", tmp_path, "--key", "ed25519:12")
    assert "is no public key" in str(found.exception)


def test_no_more_is_read_of_a_key_than_a_key_may_hold(tmp_path: Path) -> None:
    """A file without an end is no key, and neither is one behind 10,000 bytes of something else."""
    new_key(tmp_path / "key")
    (tmp_path / "long").write_bytes(b"#\n" * 5_000 + (tmp_path / "key").read_bytes())
    with pytest.raises(InputError, match="no unencrypted private key in PEM"):
        read_key(tmp_path / "long")
    (tmp_path / "long").write_bytes(b"#\n" * 1_000 + (tmp_path / "key").read_bytes())
    (tmp_path / "long").chmod(0o600)
    assert public_text(read_key(tmp_path / "long")) == public_text(read_key(tmp_path / "key"))


def test_a_key_is_for_its_owner_and_never_replaced(tmp_path: Path) -> None:
    """Its file appears whole, with a key of its own each time."""
    first = voile("key", tmp_path / "key").stdout
    assert (tmp_path / "key.pub").read_text() == first
    assert (tmp_path / "key").stat().st_mode & 0o177 == 0
    found = voile("key", tmp_path / "key")
    assert "something is here already" in str(found.exception)
    assert voile("key", tmp_path / "key", "--show").stdout == first
    assert voile("key", tmp_path / "other").stdout != first
    assert sorted(os.listdir(tmp_path)) == ["key", "key.pub", "other", "other.pub"]


def test_a_signature_that_cannot_be_written_leaves_nothing(keys: Path, tmp_path: Path) -> None:
    """No half of a file, and no signature without its salts."""
    if user() in {None, 0}:
        pytest.skip("nothing is forbidden to the superuser")
    folder = studied(tmp_path)
    voile("check", folder, "--policy", policy(tmp_path, PASSES))
    (folder / "release").chmod(0o500)
    found = voile("sign", folder, "--key", keys / "board", "--as", "board")
    (folder / "release").chmod(0o700)
    assert "cannot be written" in str(found.exception)
    assert sorted(os.listdir(folder / "release")) == ["data.csv", "release.json"]


@pytest.mark.slow
def test_an_attestation_is_signed_as_dsse_says(keys: Path, tmp_path: Path) -> None:
    """Who knows only DSSE, in-toto and the public key checks it; the hashes are of the files."""
    folder, file = studied(tmp_path), tmp_path / "verdict.dsse.json"
    voile("check", folder, "--policy", policy(tmp_path, PASSES))
    call = ["sign", folder, "--key", keys / "officer", "--as", "officer", "--attest", file]
    assert voile(*call).exit_code == 0
    envelope = json.loads(file.read_text())
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"]
    said = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    raw = bytes.fromhex(_public(keys / "officer").removeprefix("ed25519:"))
    (signature,) = envelope["signatures"]
    Ed25519PublicKey.from_public_bytes(raw).verify(base64.b64decode(signature["sig"]), said)
    statement = json.loads(payload)
    policy_text = (tmp_path / "policy.toml").read_bytes()
    digest = {"sha256": hashlib.sha256(policy_text).hexdigest()}
    assert {key: statement[key] for key in statement.keys() - {"subject"}} == {
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": "PASSED",
            "configuration": [{"name": "a policy", "digest": digest}],
            "passedTests": ["group-size: at least 1"],
        },
    }
    assert kind == "application/vnd.in-toto+json"
    assert signature["keyid"] == _public(keys / "officer")
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    release = folder / "release"
    assert {"release.json", "verify.html"} < subjects.keys()
    for name, digest in subjects.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
    again = voile("sign", folder, "--key", keys / "board", "--as", "board", "--attest", file)
    assert again.exit_code == 2
    assert "something is here already" in str(again.exception)


@pytest.mark.slow
def test_no_attestation_of_a_verdict_that_has_not_passed(keys: Path, tmp_path: Path) -> None:
    """Nothing is written, and nothing is signed."""
    folder = studied(tmp_path)
    voile("check", folder, "--policy", policy(tmp_path, 'kind = "group-size"\nleast = 1000'))
    file = tmp_path / "verdict.dsse.json"
    found = voile("sign", folder, "--key", keys / "board", "--as", "board", "--attest", file)
    assert found.exit_code == 4
    assert not file.exists()
    assert not list(folder.rglob("signatures.json"))


def test_what_is_signed_are_these_bytes() -> None:
    """So that a signature which was made today holds with each later version."""
    statement = Statement(judged="study", files=(), private=(), policy="p", passed=True)
    assert message_of(statement, "officer", "ed25519:0") == (
        b'voile-signature-1\x00{"key":"ed25519:0","role":"officer","statement":'
        b'{"files":[],"judged":"study","passed":true,"policy":"p","private":[]}}'
    )


def test_an_audit_is_of_whom_has_signed_its_seal(tmp_path: Path) -> None:
    """Nobody's at first; a record with another seal, or by another key, is refused."""
    record = tmp_path / "audit.json"
    record.write_text('{"seal": "one"}')
    assert auditor_of(tmp_path) is None
    key, other = new_key(tmp_path / "key"), new_key(tmp_path / "other")
    sign_audit(tmp_path, key)
    assert auditor_of(tmp_path) == public_text(key)
    record.write_text('{"seal": "one", "more": "figures, which the seal is of"}')
    assert auditor_of(tmp_path) == public_text(key)
    told = f"{record}: this is not the record that its auditor has signed; run voile audit again"
    record.write_text('{"seal": "two"}')
    with pytest.raises(RefusedError, match=re.escape(told)):
        auditor_of(tmp_path)
    record.write_text('{"seal": "one"}')
    signature = tmp_path / "auditor.json"
    signature.write_text(signature.read_text().replace(public_text(key), public_text(other)))
    with pytest.raises(RefusedError, match=re.escape(told)):
        auditor_of(tmp_path)


@pytest.mark.parametrize("signed", ["study"], indirect=True)
def test_a_signed_release_that_is_not_what_it_claims_does_not_verify(
    signed: Path, keys: Path, tmp_path: Path
) -> None:
    """Whoever has signed it: a row less than the release states is told as what it is."""
    shutil.copytree(signed / "release", tmp_path / "received")
    data, path = tmp_path / "received" / "data.csv", tmp_path / "received" / "signatures.json"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[:-1]))
    stated = Signed.read(path)
    said = {**stated.statement.document(), "files": files_in(tmp_path / "received")}
    statement = read(Statement, json.loads(json.dumps(said)), "here")
    key = read_key(keys / "officer")
    signature = key.sign(message_of(statement, "officer", public_text(key))).hex()
    one = Signature(role="officer", key=public_text(key), signature=signature)
    write_signed(path, Signed(statement=statement, signatures=(one,)))
    found = verify(tmp_path / "received")
    assert [signer.role for signer in found.signatures] == ["officer"]
    (told,) = found.changes
    assert "data.csv" in told


def test_a_public_key_is_read_from_a_text_and_from_files(tmp_path: Path) -> None:
    """Spaces around it do not matter; what is neither is told."""
    public = public_text(new_key(tmp_path / "key"))
    (tmp_path / "key.pub").write_text(f"of the board: {public}\n")
    assert public_key(f" {public}\n") == public_key(str(tmp_path / "key.pub")) == public
    for said in ("nowhere", public[:-1], "\0"):
        with pytest.raises(InputError, match="is no public key, and no file that holds one"):
            public_key(said)


@pytest.mark.slow
def test_what_signers_know_to_be_otherwise_is_told_to_recipients(tmp_path, keys):
    """Of the published assumptions alone, and nothing of why."""
    place = studied(tmp_path)
    stated = policy(tmp_path, 'kind = "assumptions"')
    voile("check", place, "--policy", stated)
    form = place / "private" / "assumptions.toml"
    text = form.read_text().replace("ticked = false", "ticked = true")
    text = re.sub('by *= *".*"', 'by = "officer"', text)
    unseen = "hierarchies, k and the other parameters were chosen without looking at the rows"
    assert unseen in text
    before, _, after = text.partition(unseen)
    knowing = after.replace('by = "officer"', 'by = "officer, knowing that 30 plans were tried"', 1)
    form.write_text(before + unseen + knowing)
    assert voile("check", place, "--policy", stated).exit_code == 0
    signed = voile("sign", place, "--key", keys / "officer", "--as", "officer")
    assert signed.exit_code == 0, signed.output
    found = voile("verify", place / "release", "--json")
    assert json.loads(found.stdout)["untrue"] == [unseen]
    assert f"and have accepted it: {unseen}." in voile("verify", place / "release").output
    assert "30 plans" not in (place / "release" / "signatures.json").read_text()
    assert Signed.read(place / "release" / "signatures.json").statement.untrue == (unseen,)
