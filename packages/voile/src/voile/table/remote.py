"""Tables and releases in object stores, and tables behind addresses of the web.

    s3://bucket/people.parquet            an object
    gs://bucket/people/                   all Parquet objects right below
    abfss://container@account.dfs.core.windows.net/people/part-*.parquet
    https://host/people.csv               a file of a web server

What stands there is brought to a folder of this machine that its owner alone may read, and goes
with the command or the call: so every engine, every format and every check meets the same bytes,
and no engine is told of a credential.  An object that changes between the listing and its end is
refused (its entity tag is asked for), and so is one that comes short.

A release is made ready and checked on this machine, and then put into a store object by object:
a claim on the place, which one publisher gets, its rows, and ``release.json`` last, which no
second one can replace.  There is no rename, and none is needed: readers take what has a
``release.json`` for a release, and of its objects those alone that it lists, by their hashes.
Where the upload fails, what it brought is removed; where the machine dies, rows may stay that
nothing refers to, and the claim says so to the next publisher.

Credentials are those of the environment, of files and roles as the store's own tools find them; an
address that holds one is refused, and no message repeats what a store said.

Library: obstore (the extra ``remote``), which retries what servers refuse for the moment (503, 429,
broken connections).  Cost: one pass over the bytes, and room for them on the disk.
"""

from __future__ import annotations

import atexit
import errno
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from fnmatch import fnmatchcase
from importlib.util import find_spec
from os import environ
from pathlib import Path
from typing import Any

from voile_base.errors import InputError, TableError, VoileError
from voile_base.ondemand import dataclass, on_demand, pattern_on_demand
from voile_base.values import Json

obstore = on_demand("obstore")
stores = on_demand("obstore.store")
store_errors = on_demand("obstore.exceptions")
boto3 = on_demand("boto3")
boto3_auth = on_demand("obstore.auth.boto3")

__all__ = [
    "DOCUMENT",
    "RemotePlace",
    "UncertainUploadError",
    "brought_release",
    "is_remote",
    "refuse_full",
    "told_of",
]

DOCUMENT = "release.json"
"""What a release has, and nothing else."""
_CLAIM = ".voile-upload"
"""What stands beside a release until it is whole."""

_ADDRESS = pattern_on_demand(r"(s3a?|gs|abfss?|https?):/{1,2}([^/].*)", re.IGNORECASE | re.DOTALL)
_WRITABLE = ("s3", "s3a", "abfs", "abfss")
_LOCAL_HOST = pattern_on_demand(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$")
_GLOB = pattern_on_demand(r"[*?\[]")
_STATUS = pattern_on_demand(r"status code: (\d{3})|\b([45]\d\d) [A-Z][a-z]+")
_RETRIES: Json = {"max_retries": 6, "retry_timeout": timedelta(seconds=60)}
_CLIENT: Json = {
    "timeout": timedelta(hours=6),
    "connect_timeout": timedelta(seconds=10),
}
_PARQUET = (".parquet", ".parq", ".pq")
_IN_ONE_REQUEST = 64 << 20
"""Bytes; larger objects go up in parts."""


class UncertainUploadError(InputError):
    """Nobody can say whether a release stands: the store failed while its document was put."""


def is_remote(source: object) -> bool:
    """Whether a place is one of a store or of the web; what stands on this disk is none."""
    if not isinstance(source, str | Path) or not _ADDRESS.fullmatch(str(source)):
        return False
    return not Path(source).exists()


@dataclass(frozen=True)
class RemotePlace:
    """An address; raises ``InputError`` where it holds a credential, or cannot be one."""

    scheme: str
    host: str
    """A bucket, a container with its account, or a server."""
    key: str
    """What stands behind it, without slashes at its ends."""

    @classmethod
    def of(cls, source: str | Path) -> RemotePlace:
        """The place that an address names, also where a shell or a path has lost a slash."""
        match = _ADDRESS.fullmatch(str(source))
        if match is None:
            msg = "this is no address of an object store or a web server"
            raise InputError(msg)
        scheme = match[1].lower()
        host, _, key = match[2].partition("/")
        _refuse_credential(scheme, host, key)
        if scheme == "http" and not _LOCAL_HOST.match(host):
            msg = f"http://{host}: private rows would cross the network unencrypted; use https://"
            raise InputError(msg)
        return cls(scheme, host, key.strip("/"))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}/{self.key}"

    @property
    def is_web(self) -> bool:
        """Whether a server gives single files, and no list of them."""
        return self.scheme in ("http", "https")

    def __truediv__(self, name: str) -> RemotePlace:
        return RemotePlace(self.scheme, self.host, f"{self.key}/{name}".strip("/"))

    def store(self) -> Any:
        """The store that holds it; raises ``InputError`` where the library is not installed."""
        if find_spec("obstore") is None:
            msg = f"{self}: reading and writing object stores needs pip install 'voile[remote]'"
            raise InputError(msg)
        # The library does not look for this in the environment where it is given other options.
        plain = environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
        plain = self.scheme == "http" or (plain and self.scheme in ("s3", "s3a"))
        client = _CLIENT | ({"allow_http": True} if plain else {})
        options: Json = {"client_options": client, "retry_config": _RETRIES}
        if self.scheme in ("s3", "s3a") and (provider := _chain_of_aws()):
            options["credential_provider"] = provider
        with _explained(self, InputError):
            return stores.from_url(f"{self.scheme}://{self.host}", **options)

    # -- releases -------------------------------------------------------------------------------

    def refuse_taken(self) -> None:
        """Raise ``InputError`` where a release cannot be put: what stands there, or cannot be."""
        if self.scheme not in _WRITABLE:
            msg = f"{self}: releases are put to s3:// and abfss://, and to folders of this machine"
            raise InputError(msg)
        if not self.key:
            msg = f"{self}: name a place inside the bucket, such as {self}release-1"
            raise InputError(msg)
        store = self.store()
        with _explained(self, InputError):
            keys = [one["path"] for one in _listed(store, self.key)]
        if f"{self.key}/{_CLAIM}" in keys:
            msg = (
                f"{self}: a release is being put there, or its upload was cut off and left objects "
                "that no reader takes for a release; if no other publisher is at work, remove all "
                "objects there, or name another place"
            )
            raise InputError(msg)
        if keys:
            msg = f"{self}: something stands there already; name a place that does not exist yet"
            raise InputError(msg)

    def put_release(self, folder: Path) -> None:
        """Put the files of a folder, ``release.json`` last; see the module.

        Raises ``InputError`` where the store refuses, and then what was put is removed; and
        ``UncertainUploadError`` where nobody can say whether the last object stands.
        """
        store = self.store()
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        names = [str(file.relative_to(folder)) for file in files]
        rows = [(name, file) for name, file in zip(names, files, strict=True) if name != DOCUMENT]
        document, sent = (folder / DOCUMENT).read_bytes(), False
        put: list[str] = []
        try:
            self._put(store, _CLAIM, b"", put)
            for name, file in rows:
                self._put(store, name, file, put)
            sent = True
            self._put(store, DOCUMENT, document, put)
        except BaseException as fault:
            # The answer to a put that succeeded may have been lost, or an interrupt came with it.
            stands = self._stands(store, document) if sent else False
            if stands is None or (stands and not isinstance(fault, Exception)):
                raise self._uncertain() from None
            if not stands:
                for key in reversed(put):
                    with suppress(Exception):
                        obstore.delete(store, key)
                raise
        with suppress(Exception):  # whoever reads a release does not look at the claim
            obstore.delete(store, put[0])

    def _stands(self, store: Any, document: bytes) -> bool | None:
        """Whether this document stands; None where nobody can say."""
        try:
            return bytes(obstore.get(store, f"{self.key}/{DOCUMENT}").bytes()) == document
        except FileNotFoundError:
            return False
        except Exception:
            return None

    def _uncertain(self) -> UncertainUploadError:
        return UncertainUploadError(
            f"{self}: it was cut off while {DOCUMENT} was put, and the release may stand; look "
            "there, and if it has a ledger, say what became of it with `voile ledger settle`"
        )

    def _put(self, store: Any, name: str, data: Path | bytes, put: list[str]) -> None:
        """Put an object where none stands."""
        key = f"{self.key}/{name}"
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        with _explained(self / name, InputError):
            if size > _IN_ONE_REQUEST:  # in parts, under the claim that this publisher has
                put.append(key)
                obstore.put(store, key, data, use_multipart=True)
                return
            obstore.put(store, key, data, mode="create", use_multipart=False)
            put.append(key)

    def has_objects(self) -> bool:
        """Whether objects stand below a prefix; raises ``TableError`` where the store refuses."""
        store = self.store()
        with _explained(self, TableError):
            return next(_listed(store, self.key), None) is not None

    def fetch(self, folder: Path) -> Path:
        """Download an object, or all that a pattern or a prefix names, into a folder.

        Folders that name values of columns (``sex=f``) stay.  Raises ``TableError`` where it
        cannot be read, or where the list of objects changes meanwhile.
        """
        store = self.store()
        key, mark, part = self.key.partition("#")  # a sheet of a workbook
        place = RemotePlace(self.scheme, self.host, key)
        with _explained(place, TableError):
            found = _found(store, place)
        if not found:
            msg = (
                f"{place}: there is no such object, and no Parquet object below; check the address"
            )
            raise TableError(msg)
        folder.mkdir(parents=True, exist_ok=True)
        refuse_full(place, folder, sum(one["size"] for one in found))
        single = len(found) == 1 and found[0]["path"] == key
        top = key.rpartition("/")[2]
        here = folder / place.host / ("" if single else _GLOB.sub("_", top).replace("=", "_"))
        names = {one["path"]: _name_here(one["path"], place) for one in found}
        if len(set(names.values())) < len(names):
            msg = (
                f"{place}: objects of several folders have one name, and the order of their rows "
                "would be nobody's; name one folder, or give them different names"
            )
            raise TableError(msg)
        for one in found:
            with _explained(f"{place.scheme}://{place.host}/{one['path']}", TableError):
                _download(store, one["path"], here / names[one["path"]], one["e_tag"])
        if not single:
            with _explained(place, TableError):
                again = _found(store, place)
            if [(one["path"], one["e_tag"]) for one in again] != [
                (o["path"], o["e_tag"]) for o in found
            ]:
                msg = f"{place}: its objects changed while they were read; run this again"
                raise TableError(msg)
        return here / (names[key] + mark + part) if single else here


def _refuse_credential(scheme: str, host: str, key: str) -> None:
    """Raise ``InputError`` for an address that holds a credential, which no message repeats."""
    account = host.rpartition("@")[0]
    of_azure = scheme in ("abfs", "abfss") and account and ":" not in account
    if (account and not of_azure) or (scheme != "s3" and "?" in key and "=" in key):
        msg = (
            f"the {scheme}:// address holds a password or a signature, which shells and logs would "
            "keep; leave it out, and set the credentials as the store's own tools take them "
            "(environment, files, roles)"
        )
        raise InputError(msg)


def _chain_of_aws() -> Any:
    """The credentials that Amazon's own tools would find; None where obstore finds them itself."""
    if find_spec("boto3") is None:
        return None
    session = boto3.session.Session()
    if session.get_credentials() is None:
        return None
    return boto3_auth.Boto3CredentialProvider(session)


def _told(place: object, fault: BaseException, kind: type[VoileError]) -> VoileError:
    """What is said of a fault of a store, without its words: they hold addresses and more."""
    return kind(f"{place}: {told_of(fault)}")


def told_of(fault: BaseException) -> str:
    """What a fault of a store says, and what would help; without the words of the store."""
    text = str(fault)
    status = next((one or two for one, two in _STATUS.findall(text)), "")
    denied = (store_errors.PermissionDeniedError, store_errors.UnauthenticatedError)
    answered = f"answered {status}, again and again" if status else "does not answer"
    lacking = not status and re.search(
        r"credential|169\.254|metadata|latest/api/token", text, re.IGNORECASE
    )
    cases = (
        (
            "NoSuchBucket" in text or "ContainerNotFound" in text,
            "there is no such bucket; check its name and its region",
        ),
        (
            isinstance(fault, FileNotFoundError),
            "there is no such object; check the address",
        ),
        (
            isinstance(fault, store_errors.AlreadyExistsError),
            "something stands there already; name a place that does not exist",
        ),
        (
            isinstance(fault, store_errors.PreconditionError),
            "the object changed while it was read; run this again",
        ),
        (
            isinstance(fault, denied) or status in ("401", "403"),
            "the store refuses access; check that these credentials may read, or write, there",
        ),
        (
            status == "507" or "StorageFull" in text or "QuotaExceeded" in text,
            "the store is full; make room there, and run this again",
        ),
        (
            bool(lacking),
            "no credentials were found; set them as the store's own tools take them (for s3:// "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role; for abfss:// "
            "AZURE_STORAGE_ACCOUNT_KEY, a service principal, or an identity)",
        ),
    )
    usual = f"the store {answered}; run this again later, or check its address"
    return next((said for holds, said in cases if holds), usual)


@contextmanager
def _explained(place: object, kind: type[VoileError]) -> Iterator[None]:
    """Turns what the library raises into messages; faults of this disk stay what they are."""
    try:
        yield
    except (VoileError, KeyboardInterrupt, SystemExit):
        raise
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno is not None:
            raise
        raise _told(place, fault, kind) from None


def _listed(store: Any, prefix: str) -> Iterator[Any]:
    """All objects below a prefix, page by page."""
    for page in obstore.list(store, prefix or None):
        yield from page


# -- reading --------------------------------------------------------------------------------------


def brought_release(source: str | Path) -> Path:
    """The folder of a release; of one in a store a copy, of what its ``release.json`` lists.

    The copy stays until this process ends.  Raises as ``brought`` does.
    """
    if not is_remote(source):
        return Path(source)
    place, folder = RemotePlace.of(source), _lasting_folder()
    store = place.store()
    here = folder / (place.key.rpartition("/")[2] or place.host)
    with _explained(place / DOCUMENT, TableError):
        try:
            _download(store, f"{place.key}/{DOCUMENT}".strip("/"), here / DOCUMENT)
        except FileNotFoundError as fault:
            if "NoSuchBucket" in str(fault):
                raise
            msg = f"{place}: this is not a release: it has no {DOCUMENT}; name one that is whole"
            raise TableError(msg) from None
    for name in _names_in(here / DOCUMENT):
        with _explained(place / name, TableError):
            _download(store, f"{place.key}/{name}".strip("/"), here / name)
    return here


def _names_in(document: Path) -> Iterable[str]:
    """The files that a document lists, as far as they may stand below its folder."""
    text = document.read_text(encoding="utf-8", errors="replace")
    for name in re.findall(r'"file"\s*:\s*"([^"\\]+)"', text):
        if ".." not in name.split("/") and not name.startswith("/"):
            yield name


def _lasting_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="voile-remote-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _found(store: Any, place: RemotePlace) -> Sequence[Any]:
    """The objects that an address names, in the order of their names."""
    if place.is_web or not _GLOB.search(place.key):
        with suppress(FileNotFoundError):
            return [obstore.head(store, place.key)] if place.key else []
        if place.is_web:
            raise FileNotFoundError
        below = [one for one in _listed(store, place.key) if _is_of_table(one, place.key)]
        return sorted(below, key=lambda one: one["path"])
    matching = (one for one in _listed(store, _fixed(place)) if _matches(one["path"], place.key))
    return sorted(matching, key=lambda one: one["path"])


def _fixed(place: RemotePlace) -> str:
    """The folders of an address before its first pattern, or those of the whole."""
    if _GLOB.search(place.key):
        return _GLOB.split(place.key)[0].rpartition("/")[0]
    return place.key


def _name_here(path: str, place: RemotePlace) -> str:
    """What an object is called on this disk: its name, below the folders that name values."""
    *folders, name = path.removeprefix(f"{_fixed(place)}/").split("/")
    kept = [each for each in folders if "=" in each]
    return "/".join([*kept, name]) if kept and len(kept) == len(folders) else name


def _is_of_table(one: Any, prefix: str) -> bool:
    """Whether an object stands right below a prefix, or below folders that name values."""
    *folders, name = one["path"].removeprefix(f"{prefix}/" if prefix else "").split("/")
    named = all("=" in each and not each.startswith(".") for each in folders)
    return named and name.endswith(_PARQUET) and not name.startswith((".", "_"))


def _matches(path: str, pattern: str) -> bool:
    """Whether each part of a key matches its part of a pattern."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def refuse_full(place: object, folder: Path, size: int) -> None:
    """Raise ``TableError`` where a folder has no room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if size > free:
        msg = (
            f"{place}: it has {size / 1e9:,.1f} GB, and {folder.parent} has room for "
            f"{free / 1e9:,.1f}; set TMPDIR to a folder with more"
        )
        raise TableError(msg)


def _download(store: Any, key: str, file: Path, tag: str | None = None) -> None:
    """Stream an object into a file; refuse what changed, comes short, or has no room.

    Raises ``TableError`` where the disk is full; what was written of the file is removed.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    answer = obstore.get(store, key, options={"if_match": tag} if tag else None)
    refuse_full(key, file.parent, answer.meta["size"])
    try:
        with file.open("wb") as stream:
            for chunk in answer.stream(min_chunk_size=1 << 22):
                stream.write(chunk)
    except OSError as fault:
        if fault.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        file.unlink(missing_ok=True)
        msg = (
            f"{key}: {tempfile.gettempdir()} was filled up while it was read; free room there, or "
            "set TMPDIR to a folder with more"
        )
        raise TableError(msg) from None
    if file.stat().st_size != answer.meta["size"]:
        msg = "an object came short"
        raise store_errors.PreconditionError(msg)
