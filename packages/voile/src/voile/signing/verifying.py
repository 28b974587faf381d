"""Whether anything was changed since it was signed, and by whom it was signed as far as that tells.

Public files are held against their hashes, one more or one less is a change; private ones against
their commitments, where the private part is there.  A signature by a key that nobody vouches for
says that nothing was changed since, and not who has signed: anybody can make a key, and could have
signed other files with it.  A key is known where the caller names it, or a policy that the caller
names gives it to the role.  The policy among what is signed vouches for nobody: who can replace all
the rest can replace that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from voile.audit.record import RELEASED
from voile.policy.case import SIGNATURES, files_in
from voile.policy.stated import Policy, StatedPolicy, policy_of_text
from voile.release.manifest import DOCUMENT
from voile.release.recounting import recount
from voile.signing.signatures import (
    SALTS,
    Signed,
    commitment_to,
    holds,
    message_of,
    read_salts,
    read_signed,
)
from voile_base.errors import InputError, RefusedError

__all__ = ["SignedBy", "Verification", "verify"]

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
        signed = read_signed(public / SIGNATURES)
    except RefusedError as error:
        return Verification((str(error),), (), (), "not here")
    changes = [*_public_changes(public, signed)]
    if not changes:
        changes += _broken_claims(public)
    if private is not None:
        changes += _private_changes(private, signed)
    try:
        own = policy_of_text(signed.statement.policy, "the signed policy").policy
    except InputError as error:
        return Verification((*changes, str(error)), (), (), "not here")
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
    return Verification(tuple(changes), tuple(found), tuple(absent), here, beside)


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
                refusal = recount(document.parent).refusal()
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
    try:
        salts: Mapping[str, str] = read_salts(private / SALTS).salts
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
        elif commitment_to(private, one.file, salts[one.file]) != one:
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
        elif not holds(one.key, one.signature, message_of(signed.statement, one.role, one.key)):
            broken.append(f"the signature as {one.role!r} is not that of what stands here")
        elif named.get(one.role, one.key) != one.key:
            broken.append(f"the policy names another key for {one.role!r} than has signed")
        else:
            known: Vouched = "policy" if (one.role, one.key) in vouched else "unknown"
            found.append(SignedBy(one.role, one.key, "named" if one.key in keys else known))
    return found, broken
