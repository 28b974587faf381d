"""Signatures over a release, its evidence, a policy and its verdict; and whether they still hold.

``signatures.json`` is published, ``salts.json`` stays with the evidence.  Both are read
only as they are written, byte by byte: another space is a change.

What is signed: all published files by their hashes, private ones by commitments, the policy, and
which published assumptions a person has accepted knowing that they do not hold.

The statement is public.  A plain hash of private figures could be guessed: there are not many that
a rate can be.  So a private file enters as SHA-256 of a secret salt of 32 bytes, its name and its
content; salts stay with the private part (``salts.json``), and who has that may open each
commitment.  The policy, which is public, stands there word by word.

A signature is over the statement, the role as which somebody signs, and the public key, as JSON
with sorted keys and without spaces.

Keys of signers: Ed25519 (RFC 8032), by the library ``cryptography``.

A key file holds the private key in PKCS #8 as PEM, unencrypted, and is for its owner alone: one
that others may read is refused.  A public key is a text, "ed25519:" and 64 hexadecimal digits.

Whether anything was changed since
----------------------------------
Public files are held against their hashes, one more or one less is a change; private ones against
their commitments, where the private part is there.  A signature by a key that nobody vouches for
says that nothing was changed since, and not who has signed: anybody can make a key, and could have
signed other files with it.  A key is known where the caller names it, or a policy that the caller
names gives it to the role.  The policy among what is signed vouches for nobody: who can replace all
the rest can replace that.

One more signature
------------------
It is over what stands there now, and nothing else.  Refused are a release that must not be
published, a verdict that has not passed, one that is not what its policy says of what stands there
now, and whatever was changed since others signed.  Salts are written before the signature is; each
file appears whole, in the place of the earlier one.

The seal of an audit
--------------------
``auditor.json`` stands beside ``audit.json`` where the auditor has a key: a signature over the seal
of the record, so that a record which somebody edited and sealed again is not the auditor's.

The verdict can also leave as an attestation that supply-chain tools read: an in-toto statement
(v1) whose subjects are the published files by their hashes and whose predicate is a test result
(v0.1: the policy by its hash, and its criteria), in a DSSE envelope.  It holds nothing that the
policy and the published files do not say.
"""

from __future__ import annotations

import json
import re
import stat
from base64 import standard_b64encode
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from pydantic import Field

from voile.audit.record import RELEASED
from voile.policy.case import AUDIT, AUDITOR, SIGNATURES, Case, FileDocument, files_in
from voile.policy.checking import VERDICT, Verdict, judge
from voile.policy.ruling import ASSUMPTIONS, KNOWING, Ruling, read_ticks
from voile.policy.stated import Policy, StatedPolicy
from voile.release.folder import DOCUMENT
from voile.release.recounting import Recount
from voile.study.documents import SEAL, json_text
from voile_base.durable import new_private_file, replace_private_file
from voile_base.errors import InputError, RefusedError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import UNFIT, Randomness
from voile_base.values.value import Value, read

__all__ = [
    "SALTS",
    "Commitment",
    "Role",
    "Salts",
    "Signature",
    "Signed",
    "SignedBy",
    "Statement",
    "Verification",
    "attested",
    "auditor_of",
    "message_of",
    "new_key",
    "public_key",
    "public_text",
    "read_key",
    "sign",
    "sign_audit",
    "verify",
    "write_signed",
]

Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Commitment(Value):
    """A private file, which only those can hold against it who have it and its salt."""

    file: str
    commitment: Hex


class Statement(Value):
    """What all signers say of a release: that all this belongs together, and has passed."""

    judged: Literal["study", "audit"]
    files: tuple[FileDocument, ...]
    """All that is published, but for the signatures."""
    private: tuple[Commitment, ...]
    """Record, report, verdict and assumptions."""
    policy: str
    """The whole text."""
    passed: Literal[True]
    """What the verdict says; nothing else can be signed."""
    untrue: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """What the release says that it assumes, and a person has accepted knowing it to be otherwise;
    None: nothing."""


def _commitment_to(folder: Path, name: str, salt: str) -> Commitment:
    """A commitment to a private file by a salt, in hexadecimal; raises ``InputError``."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        msg = f"{folder / name}: it cannot be read ({error.strerror or 'input or output error'})"
        raise InputError(msg) from None
    said = bytes.fromhex(salt) + f"voile-commitment-1\0{name}\0".encode() + content
    return Commitment(file=name, commitment=sha256(said).hexdigest())


def message_of(statement: Statement, role: str, key: str) -> bytes:
    """The bytes that somebody signs."""
    said: Mapping[str, object] = {"statement": statement.document(), "role": role, "key": key}
    return b"voile-signature-1\0" + json.dumps(
        said, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("ascii")


SALTS = "salts.json"
_PUBLIC_MODE = 0o644
Role = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Signature(Value):
    """One signature of the statement."""

    role: Role
    key: Annotated[str, Field(pattern="^ed25519:[0-9a-f]{64}$")]
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class Signed(Value):
    """A statement, and all who have signed it."""

    format: Literal["voile-signatures-1"] = "voile-signatures-1"
    statement: Statement
    signatures: tuple[Signature, ...]

    @staticmethod
    def read(path: Path) -> Signed:
        """The signatures of a file; raises ``RefusedError`` where it is not as it was written."""
        found: Signed = _as_written(path, Signed)
        return found


class Salts(Value):
    """The salts of commitments by file; private."""

    private: Literal["PRIVATE: opens the commitments of signatures.json"] = (
        "PRIVATE: opens the commitments of signatures.json"
    )
    salts: Mapping[str, Hex]


def _read_salts(path: Path) -> Salts:
    """The salts of a file; raises ``RefusedError`` where it is not as it was written."""
    found: Salts = _as_written(path, Salts)
    return found


def write_signed(path: Path, signed: Signed) -> None:
    """Write signatures, in the place of those that are there; raises ``InputError``."""
    replace_private_file(path, json_text(signed.document()), _PUBLIC_MODE)


def _write_salts(path: Path, salts: Salts) -> None:
    """Write salts; raises ``InputError``."""
    replace_private_file(path, json_text(salts.document()))


def _as_written(path: Path, kind: object) -> Any:
    changed = f"{path}: it was changed since it was written"
    try:
        text = path.read_bytes().decode("utf-8")
        found = read(kind, json.loads(text), str(path))
        same = json_text(found.document()) == text
    except FileNotFoundError:
        msg = f"{path}: it is missing"
        raise RefusedError(msg) from None
    except (OSError, ValueError, RecursionError, InputError):
        raise RefusedError(changed) from None
    if not same:
        raise RefusedError(changed)
    return found


_PUBLIC = re.compile(r"ed25519:([0-9a-f]{64})")
_HOW = "make one with voile key FILE"


def new_key(path: Path) -> Ed25519PrivateKey:
    """Make a key and its file, which must not be there yet; raises ``InputError``."""
    key = Ed25519PrivateKey.from_private_bytes(Randomness.secure().key("signing").secret)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    new_private_file(path, text)
    return key


def read_key(path: Path) -> Ed25519PrivateKey:
    """The key of a file; raises ``InputError`` where it holds none or others may read it."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content = file.read(10_000)
    except OSError as error:
        msg = f"{path}: the key cannot be read ({error.strerror}); {_HOW}"
        raise InputError(msg) from None
    if _PUBLIC.search(content.decode("latin-1")):
        msg = f"{path}: this is a public key; sign with the file of the private one"
        raise InputError(msg)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        msg = f"{path}: this is no unencrypted private key in PEM; {_HOW}"
        raise InputError(msg) from None
    if not isinstance(key, Ed25519PrivateKey):
        msg = f"{path}: this is a key of another kind than Ed25519; {_HOW}"
        raise InputError(msg)
    if mode & 0o077:
        msg = f"{path}: others may read this key (mode {mode:o}); chmod 600 it, or make a new one"
        raise InputError(msg)
    return key


def public_text(key: Ed25519PrivateKey) -> str:
    """The public key of a private one, as a text."""
    return f"ed25519:{key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()}"


def public_key(said: str) -> str:
    """The public key that a text is, or that stands in a file; raises ``InputError``."""
    if _PUBLIC.fullmatch(said.strip()):
        return said.strip()
    try:
        content = Path(said).read_bytes()[:10_000].decode("latin-1")
    except (OSError, ValueError):
        content = ""
    if "PRIVATE KEY" in content:
        msg = f"{said}: this is a private key, which nobody needs to verify; never pass it on"
        raise InputError(msg)
    if found := _PUBLIC.search(content):
        return found[0]
    msg = f"{said!r} is no public key, and no file that holds one: ed25519: and 64 digits"
    raise InputError(msg)


def _holds(public: str, signature: str, message: bytes) -> bool:
    """Whether a signature, in hexadecimal, is that of a message by a public key."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public.removeprefix("ed25519:")))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


class AuditSignature(Value):
    """Who has made an audit: ``auditor.json``; private, as the record is."""

    key: Annotated[str, Field(pattern="^ed25519:[0-9a-f]{64}$")]
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
    """Over the seal of the record."""


def sign_audit(folder: Path, key: Ed25519PrivateKey) -> None:
    """Write who has made the audit that stands in a folder."""
    public = public_text(key)
    signature = key.sign(_of_audit(folder, public)).hex()
    said = AuditSignature(key=public, signature=signature)
    new_private_file(folder / AUDITOR, json_text(said.document()))


def auditor_of(folder: Path) -> str | None:
    """The public key of whom an audit is; None where nobody has signed it.

    Raises ``RefusedError`` where the record is not the one that was signed.
    """
    if not (folder / AUDITOR).is_file():
        return None
    found: AuditSignature = _as_written(folder / AUDITOR, AuditSignature)
    if not _holds(found.key, found.signature, _of_audit(folder, found.key)):
        msg = f"{folder / AUDIT}: this is not the record that its auditor has signed"
        raise RefusedError(f"{msg}; run voile audit again")
    return found.key


def _of_audit(folder: Path, public: str) -> bytes:
    """What an auditor signs: the seal of the record, and by which key."""
    seal = json.loads((folder / AUDIT).read_text(encoding="utf-8"))[SEAL]
    return b"voile-audit-1\0" + json_text({"key": public, "seal": seal}).encode()


Vouched = Literal["unknown", "named", "policy"]


@dataclass(frozen=True)
class SignedBy:
    """One signature that holds."""

    role: str
    key: str
    known: Vouched
    """Who vouches for the key: nobody, the caller, or the policy that the caller has named."""

    @property
    def words(self) -> str:
        """What it says, as a sentence without a full stop."""
        whose = {
            "unknown": f"the unknown key {self.key}",
            "named": f"the key that you have named, {self.key}",
            "policy": f"the key that your policy gives to this role, {self.key}",
        }[self.known]
        return f"unaltered since signed as {self.role!r} by {whose}"


@dataclass(frozen=True)
class Verification:
    """What holds of the signatures of a folder."""

    changes: tuple[str, ...]
    """What is not as it was signed, a clause each."""
    signatures: tuple[SignedBy, ...]
    absent: tuple[str, ...]
    """Roles that the signed policy asks to sign, and that have not."""
    private: Literal["unaltered", "not here"]
    """The private part; meaningless where there are changes."""
    unsigned: tuple[str, ...] = ()
    """What else stands there, outside the public part, and nobody has signed."""
    untrue: tuple[str, ...] = ()
    """What the release assumes, and its signers have accepted knowing it to be otherwise."""
    policy: StatedPolicy | None = None
    """The one that the signers say to have been passed; None where none could be read."""


def verify(
    folder: str | Path, keys: Collection[str] = (), policy: StatedPolicy | None = None
) -> Verification:
    """Hold a folder against its signatures; ``keys`` are public ones that the caller trusts.

    ``policy`` is one that the caller trusts: it must be the signed one, and vouches for its keys.
    Raises ``InputError`` where there is no such folder, and ``RefusedError`` where nobody has
    signed.
    """
    public, private = _parts(Path(folder))
    links = [one for one in (Path(folder), public, private) if one is not None and one.is_symlink()]
    if links:
        msg = f"{links[0]}: this is a link, which may lead elsewhere later; name the folder itself"
        return Verification((msg,), (), (), "not here")
    try:
        signed = Signed.read(public / SIGNATURES)
    except RefusedError as error:
        return Verification((str(error),), (), (), "not here")
    changes = [*_public_changes(public, signed)]
    if not changes:
        changes += _broken_claims(public)
    if private is not None:
        changes += _private_changes(private, signed)
    try:
        stated = StatedPolicy.of_text(signed.statement.policy, "the signed policy")
    except InputError as error:
        return Verification((*changes, str(error)), (), (), "not here")
    own = stated.policy
    if policy is not None and policy.text != signed.statement.policy:
        changes.append("the signed policy is another than the one that you have named")
    found, broken = _signatures(signed, own, keys, None if policy is None else policy.policy)
    changes += broken
    absent = [one.role for one in own.signers if one.role not in {each.role for each in found}]
    for key in keys:
        if key not in {one.key for one in found}:
            changes.append(f"nobody has signed with the key that you have named, {key}")
    here: Literal["unaltered", "not here"] = "not here" if private is None else "unaltered"
    beside = _unsigned(Path(folder), public, private, signed)
    untrue = signed.statement.untrue or ()
    return Verification(tuple(changes), tuple(found), tuple(absent), here, beside, untrue, stated)


def _parts(folder: Path) -> tuple[Path, Path | None]:
    """The public and the private part of what stands in a folder."""
    if not folder.is_dir():
        msg = f"{folder}: there is no such folder"
        raise InputError(msg)
    for public, private in (
        (folder / "release", folder / "private"),
        (folder / RELEASED, folder),
        (folder, None),
    ):
        if (public / SIGNATURES).is_file():
            return public, private
    msg = f"{folder}: nobody has signed what stands here: there is no {SIGNATURES}"
    raise RefusedError(msg)


def _public_changes(public: Path, signed: Signed) -> Iterator[str]:
    stated = {one["file"]: one for one in signed.statement.files}
    try:
        there = {one["file"]: one for one in files_in(public)}
    except (InputError, RefusedError) as error:
        yield str(error)
        return
    for name, one in stated.items():
        if name not in there:
            yield f"{name} is missing"
        elif there[name] != one:
            yield f"{name} was changed"
    yield from (f"{name} was added" for name in there if name not in stated)


def _broken_claims(public: Path) -> Iterator[str]:
    """Why a release among what is published is not what it claims, though it is as signed."""
    for document in (public / DOCUMENT, *public.glob(f"*/{DOCUMENT}")):
        if document.is_file():
            try:
                refusal = Recount.of(document.parent).refusal()
            except RefusedError as error:
                refusal = error
            if refusal is not None:
                yield str(refusal)


def _private_changes(private: Path, signed: Signed) -> Iterator[str]:
    covered = signed.statement.private
    if not private.is_dir() or not any((private / one.file).exists() for one in covered):
        names = ", ".join(one.file for one in covered)
        yield (
            f"the private part, which was signed with it ({names}), was taken away; name the "
            "public part to verify that alone"
        )
        return
    if (private / SALTS).is_symlink():
        yield f"{SALTS}, of the private part, is a link"
        return
    try:
        salts: Mapping[str, str] = _read_salts(private / SALTS).salts
    except RefusedError as error:
        yield str(error)
        return
    if salts.keys() != {one.file for one in signed.statement.private}:
        yield f"{SALTS} was changed"
        return
    for one in covered:
        if (private / one.file).is_symlink():
            yield f"{one.file}, of the private part, is a link"
        elif not (private / one.file).is_file():
            yield f"{one.file}, of the private part, is missing"
        elif _commitment_to(private, one.file, salts[one.file]) != one:
            yield f"{one.file}, of the private part, or its salt was changed"


def _unsigned(folder: Path, public: Path, private: Path | None, signed: Signed) -> tuple[str, ...]:
    """What else stands in the folder that was named, and in the private part."""
    if folder == public:
        return ()
    known = {SALTS, *(one.file for one in signed.statement.private)}
    found = [one for one in folder.iterdir() if one not in {public, private}]
    if private is not None:
        if private != folder:
            found += private.iterdir()
        found = [one for one in found if one.parent != private or one.name not in known]
    return tuple(sorted(one.relative_to(folder).as_posix() for one in found))


def _signatures(
    signed: Signed, own: Policy, keys: Collection[str], trusted: Policy | None
) -> tuple[list[SignedBy], list[str]]:
    found: list[SignedBy] = []
    broken: list[str] = []
    named = {one.role: one.key for one in own.signers if one.key}
    vouched = {(one.role, one.key) for one in trusted.signers} if trusted else set()
    if not signed.signatures:
        broken.append("it holds no signature")
    roles = {one.role for one in own.signers}
    for one in signed.signatures:
        if one.role in {each.role for each in found}:
            broken.append(f"somebody has signed as {one.role!r} twice")
        elif roles and one.role not in roles:
            broken.append(f"the policy asks nobody to sign as {one.role!r}")
        elif not _holds(one.key, one.signature, message_of(signed.statement, one.role, one.key)):
            broken.append(f"the signature as {one.role!r} is not that of what stands here")
        elif named.get(one.role, one.key) != one.key:
            broken.append(f"the policy names another key for {one.role!r} than has signed")
        else:
            known: Vouched = "policy" if (one.role, one.key) in vouched else "unknown"
            found.append(SignedBy(one.role, one.key, "named" if one.key in keys else known))
    return found, broken


_ANOTHER = "others have signed something else than what stands here now"
_LONGEST = 100
"""Characters of a role."""


def sign(case: Case, key: Ed25519PrivateKey, role: str) -> Signature:
    """Sign what stands in a folder as somebody of a role.

    Raises ``RefusedError`` for what must not be signed, ``InputError`` for a role that cannot.
    """
    if case.private is None:
        raise _without_evidence(case)
    policy, text = _passed(case, case.private)
    public = public_text(key)
    _check_role(policy, role, public)
    path = case.public / SIGNATURES
    earlier: tuple[Signature, ...] = ()
    salts = case.private / SALTS
    names = _private_files(case, case.private)
    if path.exists():
        earlier = _of_others(case, role)
    else:
        fresh = Randomness.secure()
        drawn = {name: fresh.key("salt", name).secret.hex() for name in names}
        _write_salts(salts, Salts(salts=drawn))
    opened = _read_salts(salts).salts
    if opened.keys() != set(names):
        raise RefusedError(f"{path}: {_ANOTHER}")
    statement = Statement(
        judged="audit" if case.kind == "audit" else "study",
        files=case.files,
        private=tuple(_commitment_to(case.private, name, opened[name]) for name in names),
        policy=text,
        passed=True,
        untrue=_accepted_untrue(case, policy, case.private),
    )
    if earlier and Signed.read(path).statement != statement:
        raise RefusedError(f"{path}: {_ANOTHER}")
    signed = key.sign(message_of(statement, role, public)).hex()
    signature = Signature(role=role, key=public, signature=signed)
    write_signed(path, Signed(statement=statement, signatures=(*earlier, signature)))
    return signature


def _accepted_untrue(case: Case, policy: Policy, private: Path) -> tuple[str, ...] | None:
    """What was ticked beside what contradicts it: assumptions, and what the policy asks.

    They name published columns alone, and stand in the promise or the policy, which is signed.
    """
    promised = (case.document or {}).get("guarantee", {}).get("assumes", ())
    of_recipient = policy.recipient.questions if policy.recipient else ()
    assumed = dict.fromkeys((*promised, *case.unexamined, *policy.questions, *of_recipient))
    ticks = (one for one in read_ticks(private / ASSUMPTIONS) if one.ticked)
    knowing = {one.says for one in ticks if KNOWING in (one.by or "")}
    return tuple(one for one in assumed if one in knowing) or None


_PAYLOAD = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
_RESULT = "https://in-toto.io/attestation/test-result/v0.1"


def attested(case: Case, key: Ed25519PrivateKey) -> str:
    """The passed verdict on what stands in a folder, as a signed attestation in JSON; public.

    Signed is the pre-authentication encoding of DSSE v1 (secure-systems-lab/dsse, protocol.md).
    Raises as ``sign`` does.
    """
    if case.private is None:
        raise _without_evidence(case)
    policy, text = _passed(case, case.private)
    verdict = Verdict.read(case.private / VERDICT)
    statement: Mapping[str, object] = {
        "_type": _STATEMENT,
        "subject": [
            {"name": one["file"], "digest": {"sha256": one["sha256"]}}
            for one in case.files
            if one["file"] != SIGNATURES
        ],
        "predicateType": _RESULT,
        "predicate": {
            "result": "PASSED",
            "configuration": [
                {"name": policy.name, "digest": {"sha256": sha256(text.encode()).hexdigest()}}
            ],
            "passedTests": [_in_short(one) for one in verdict.rulings],
        },
    }
    payload = json.dumps(statement).encode()
    said = b"DSSEv1 %d %b %d %b" % (len(_PAYLOAD), _PAYLOAD.encode(), len(payload), payload)
    envelope = {
        "payloadType": _PAYLOAD,
        "payload": standard_b64encode(payload).decode(),
        "signatures": [
            {"keyid": public_text(key), "sig": standard_b64encode(key.sign(said)).decode()}
        ],
    }
    return json.dumps(envelope, indent=2) + "\n"


def _in_short(ruling: Ruling) -> str:
    """A criterion and its limit, which the policy states; none of the figures."""
    if ruling.limit is None or ruling.side is None:
        return ruling.kind
    return f"{ruling.kind}: at {ruling.side} {ruling.limit:g}"


def _without_evidence(case: Case) -> InputError:
    return InputError(
        f"{case.public}: a release without its evidence cannot be signed; name the folder that "
        "study or audit has written"
    )


def _passed(case: Case, private: Path) -> tuple[Policy, str]:
    """The policy whose verdict is passed by what stands there now, with its text."""
    if not case.publishable:
        msg = f"{case.public}: this release must not be published, and is not signed: {UNFIT}"
        raise RefusedError(msg)
    verdict = Verdict.read(private / VERDICT)
    stated = StatedPolicy.of_text(verdict.text, f"{private / VERDICT}: its policy")
    if judge(case, stated) != verdict:
        msg = (
            f"{private / VERDICT}: this is not what the policy says of what stands here now; run "
            "voile check again"
        )
        raise RefusedError(msg)
    if not verdict.passed:
        failed = sum(not one.passed for one in verdict.rulings)
        msg = f"{private / VERDICT}: {failed} criteria are not met, and nobody signs that they are"
        raise RefusedError(msg)
    return stated.policy, stated.text


def _check_role(policy: Policy, role: str, public: str) -> None:
    if not 0 < len(role) <= _LONGEST or not role.isprintable():
        msg = f"a role has 1 to {_LONGEST} characters that can be printed"
        raise InputError(msg)
    keys = {signer.role: signer.key for signer in policy.signers}
    if keys and role not in keys:
        msg = (
            f"the policy does not ask a {role!r} to sign{nearest(role, keys)} "
            f"(it asks: {', '.join(keys)})"
        )
        raise InputError(msg)
    if (named := keys.get(role)) is not None and named != public:
        msg = f"the policy names another key for the {role!r}: {named}; this one is {public}"
        raise RefusedError(msg)


def _of_others(case: Case, role: str) -> tuple[Signature, ...]:
    """The signatures that are there; raises ``RefusedError`` where they do not hold."""
    found = verify(case.public.parent)
    if found.changes:
        msg = f"{case.public}: it was changed since it was signed: {found.changes[0]}"
        raise RefusedError(msg)
    if any(one.role == role for one in found.signatures):
        msg = f"{case.public / SIGNATURES}: somebody has signed as {role!r} already"
        raise RefusedError(msg)
    return Signed.read(case.public / SIGNATURES).signatures


def _private_files(case: Case, private: Path) -> tuple[str, ...]:
    ticks = [ASSUMPTIONS] if (private / ASSUMPTIONS).is_file() else []
    return (*case.evidence, VERDICT, *ticks)
