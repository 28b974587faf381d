"""One more signature: over what stands there now, and nothing else.

Refused are a release that must not be published, a verdict that has not passed, one that is not
what its policy says of what stands there now, and whatever was changed since others signed.  Salts
are written before the signature is; each file appears whole, in the place of the earlier one.

The verdict can also leave as an attestation that supply-chain tools read: an in-toto statement
(v1) whose subjects are the published files by their hashes and whose predicate is a test result
(v0.1: the policy by its hash, and its criteria), in a DSSE envelope.  It holds nothing that the
policy and the published files do not say.
"""

from __future__ import annotations

import json
from base64 import standard_b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from voile.policy.case import SIGNATURES, Case
from voile.policy.checking import VERDICT, judge, read_verdict
from voile.policy.ruling import ASSUMPTIONS, Ruling
from voile.policy.stated import Policy, policy_of_text
from voile.signing.signatures import (
    SALTS,
    Salts,
    Signature,
    Signed,
    Statement,
    commitment_to,
    message_of,
    public_text,
    read_salts,
    read_signed,
    write_salts,
    write_signed,
)
from voile.signing.verifying import verify
from voile_base.errors import InputError, RefusedError, nearest
from voile_base.randomness import UNFIT, Randomness

__all__ = ["attested", "sign"]

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
        write_salts(salts, Salts(salts=drawn))
    opened = read_salts(salts).salts
    if opened.keys() != set(names):
        raise RefusedError(f"{path}: {_ANOTHER}")
    statement = Statement(
        judged="audit" if case.kind == "audit" else "study",
        files=case.files,
        private=tuple(commitment_to(case.private, name, opened[name]) for name in names),
        policy=text,
        passed=True,
    )
    if earlier and read_signed(path).statement != statement:
        raise RefusedError(f"{path}: {_ANOTHER}")
    signed = key.sign(message_of(statement, role, public)).hex()
    signature = Signature(role=role, key=public, signature=signed)
    write_signed(path, Signed(statement=statement, signatures=(*earlier, signature)))
    return signature


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
    verdict = read_verdict(case.private / VERDICT)
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
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
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
    verdict = read_verdict(private / VERDICT)
    stated = policy_of_text(verdict.text, f"{private / VERDICT}: its policy")
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
    return read_signed(case.public / SIGNATURES).signatures


def _private_files(case: Case, private: Path) -> tuple[str, ...]:
    ticks = [ASSUMPTIONS] if (private / ASSUMPTIONS).is_file() else []
    return (*case.evidence, VERDICT, *ticks)
