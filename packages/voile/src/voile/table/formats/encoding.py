"""Text files of any encoding, as streams of UTF-8.

The encoding is known from a byte-order mark, or is UTF-8 if every byte of the file agrees, or is
guessed; a guess is said aloud in ``Utf8Text.notes``.  Text in Latin letters is guessed, by the
alphabets of some twenty languages, before ``charset-normalizer`` is asked, because on the short
words of tables it takes most of it for something else.  A file that is mostly UTF-8 and breaks off
somewhere is damaged, not of another encoding, and is refused.

Cost: one pass over the bytes; plain UTF-8 is then read from the disk, everything else (other
encodings, compressed files) is held in memory once, as UTF-8.
"""

from __future__ import annotations

import bz2
import codecs
import io
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from voile_base.errors import TableError, refuse_out_of_memory
from voile_base.ondemand import dataclass, on_demand, pattern_on_demand

if TYPE_CHECKING:
    import charset_normalizer
else:
    charset_normalizer = on_demand("charset_normalizer")

__all__ = ["Utf8Text", "beside_compressed"]

_READ_AT_ONCE = 1 << 24  # bytes

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGN_IN_WORD = pattern_on_demand(  # apostrophes, dashes and soft hyphens do stand in words
    r"[^\W\d_][^\w\s\x00-\x7f\u2018\u2019\u00b4\u00b7\u2013\u2014\u00ad][^\W\d_]"
)
_SPECIMENS = 2000  # lines with a byte beyond ASCII from which an encoding is guessed


@dataclass(frozen=True)
class Utf8Text:
    """A text that can be opened as UTF-8 bytes without a byte-order mark, any number of times.

    ``name`` is for messages; ``notes`` says what had to be assumed about the encoding.
    """

    path: Path
    name: str
    content: bytes | None = field(default=None, repr=False)
    start: int = 0
    notes: tuple[str, ...] = ()
    lines_above: int = 0
    """Lines before the first byte that is read."""
    end: int | None = None
    """Where the table ends, in bytes after ``start``; None: where the text does."""

    def open(self, offset: int = 0) -> BinaryIO:
        """A new stream that begins ``offset`` bytes into the text."""
        if self.end is not None:
            with replace(self, end=None).open() as whole:
                return io.BytesIO(whole.read(self.end)[offset:])
        stream: BinaryIO = (
            self.path.open("rb") if self.content is None else io.BytesIO(self.content)
        )
        stream.seek(self.start + offset)
        return stream

    def blocks(self, offset: int = 0) -> Iterator[bytes]:
        """The bytes from ``offset`` on, in blocks."""
        with self.open(offset) as stream:
            while block := stream.read(_READ_AT_ONCE):
                yield block

    def line_at(self, offset: int) -> int:
        """The 1-based line that holds the byte at ``offset``."""
        line, left, previous = 1 + self.lines_above, offset, b""
        for block in self.blocks():
            part = block[:left]
            line += part.count(b"\n") + part.count(b"\r") - part.count(b"\r\n")
            line -= previous == b"\r" and part[:1] == b"\n"
            left, previous = left - len(part), part[-1:]
            if left == 0:
                break
        return line

    @staticmethod
    def of_file(path: Path, compression: str | None = None) -> Utf8Text:
        """The file at ``path`` as UTF-8 text; ``compression`` as Arrow calls it ("gzip", ...).

        Raises TableError if the file is not text, is damaged, or is in no encoding that can be
        told.
        """
        content = None if compression is None else _decompressed(path, compression)
        text = Utf8Text(path, str(path), content)
        with text.open() as stream:
            head = stream.read(4)
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                text = replace(text, start=len(mark))
                text = text if encoding == "utf-8" else _transcoded(text, encoding)
                break
        if _is_utf8(text):
            return text
        encoding = _guessed_encoding(text)
        note = f"{path}: the text is not UTF-8; it was read as {encoding}"
        return replace(_transcoded(text, encoding), notes=(note,))


def _decompressed(path: Path, compression: str) -> bytes:
    try:
        with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, compression) as stream:
            return bytes(stream.read())
    except (OSError, pa.ArrowException) as fault:
        refuse_out_of_memory(fault)
        raise TableError(
            f"{path}: the {compression} compressed file is truncated or corrupt; "
            "make it again from its source"
        ) from None


def _is_utf8(text: Utf8Text) -> bool:
    """Whether all bytes are UTF-8; raises TableError if one is NUL, which no text has."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    valid, offset = True, 0
    for block in text.blocks():
        if b"\0" in block:
            line = text.line_at(offset + block.index(b"\0"))
            raise TableError(
                f"{text.name}: line {line} holds a NUL byte, so this is not a text file (or is "
                "UTF-16 without a byte-order mark); export the table as CSV in UTF-8"
            )
        try:
            if valid and not (block.isascii() and decoder.getstate()[0] == b""):
                decoder.decode(block)
        except UnicodeDecodeError:
            valid = False
        offset += len(block)
    return valid and decoder.getstate()[0] == b""


def _transcoded(text: Utf8Text, encoding: str) -> Utf8Text:
    decoder = codecs.getincrementaldecoder(encoding)()
    out = io.BytesIO()
    try:
        for block in text.blocks():
            out.write(decoder.decode(block).encode())
        out.write(decoder.decode(b"", final=True).encode())
    except UnicodeError:
        line = out.getvalue().count(b"\n") + 1
        raise TableError(
            f"{text.name}: the text looks like {encoding}, but some of it after line {line} is "
            "not; save the file as UTF-8"
        ) from None
    return replace(text, content=out.getvalue(), start=0)


def _guessed_encoding(text: Utf8Text) -> str:
    """The likeliest encoding of a text that is not UTF-8."""
    data = b"".join(text.blocks())
    lines = re.finditer(rb"[^\r\n]*[\x80-\xff][^\r\n]*", data)
    specimen = b"\n".join(line[0] for line in islice(lines, _SPECIMENS))
    beyond_ascii = re.sub(r"[\x00-\x7f]", "", specimen.decode("utf-8", "replace"))
    if beyond_ascii.count("\ufffd") * 2 < len(beyond_ascii):
        raise TableError(
            f"{text.name}: line {_first_fault(text, data)} is damaged: the text is UTF-8 except "
            "for some bytes there; save the file again as UTF-8"
        )
    if latin := _latin_codepage(specimen):
        return latin
    if _is_western(specimen):
        return "cp1252"

    if _has_letters_of("cp932", specimen):
        return "cp932"
    best = charset_normalizer.from_bytes(specimen).best()
    guess = best.encoding if best else _eastern_codepage(specimen) or _codepage_of_script(specimen)
    if guess is None:
        raise TableError(
            f"{text.name}: the encoding of the text cannot be told; save the file as UTF-8"
        )
    other = _WITH_EURO.get(guess)
    if other and _UNWRITTEN.search(specimen.decode(guess, "replace")) and _holds(other, specimen):
        return other
    return guess


_UNWRITTEN = pattern_on_demand("\xa4|\xb6[\u03b1-\u03c9]")
"""What nobody writes: the sign of no currency, where newer sets have the euro, and a pilcrow that
begins a word of Greek, where another has an alpha."""
_WITH_EURO = {"cp1253": "iso8859_7", "iso8859_1": "iso8859_15", "latin_1": "iso8859_15"}


def _holds(encoding: str, specimen: bytes) -> bool:
    """Whether bytes are a text in an encoding, without characters of control."""
    try:
        return not _CONTROLS.search(specimen.decode(encoding))
    except UnicodeDecodeError:
        return False


_CONTROLS = pattern_on_demand(r"[\x80-\x9f]")


def _first_fault(text: Utf8Text, data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return text.line_at(fault.start)
    raise AssertionError("called for a text that is not UTF-8")


_EASTERN = {
    "cp932": "[\u3041-\u30ff]",  # kana
    "cp949": "[\uac00-\ud7a3]",
    "gb18030": "[\u4e00-\u9fff]",
    "big5hkscs": "[\u4e00-\u9fff]",
}
"""Letters without which no text is in the language that a code page of Windows writes."""
_TOLD_BY = 0.1


def _eastern_codepage(specimen: bytes) -> str | None:
    """The first code page in which all bytes are text, with letters of its language; or None."""
    return next((page for page in _EASTERN if _has_letters_of(page, specimen)), None)


def _has_letters_of(page: str, specimen: bytes) -> bool:
    """Whether all bytes are text in an eastern code page, with letters of its language.

    Kana tell Japanese from every other text; the letters of the others may come by chance.
    """
    try:
        read = re.sub(r"[\x00-\x7f]", "", specimen.decode(page))
    except UnicodeDecodeError:
        return False
    return len(re.findall(_EASTERN[page], read)) > _TOLD_BY * len(read)


_SCRIPTS = {
    "[\u0370-\u03ff]": ("cp1253", "iso8859_7"),
    "[\u0400-\u04ff]": ("cp1251", "koi8_u", "iso8859_5", "cp866"),
    "[\u05d0-\u05ea]": ("cp1255", "iso8859_8"),
    "[\u0600-\u06ff]": ("cp1256", "iso8859_6"),
    "[\u0e00-\u0e7f]": ("cp874",),
}
"""Letters of scripts with a small alphabet, and code pages that hold them beside ASCII."""
_SCRIPT_TOLD_BY = 0.9


def _codepage_of_script(specimen: bytes) -> str | None:
    """The code page of a script in which most words are written as words are; or None.

    All bytes are text in it, and nearly all letters beyond ASCII are of the script.  Of Greek and
    Cyrillic some are capitals and some small, and of both a word is all or begins with a capital;
    no word of Thai begins with the sign of a vowel that stands above or below another letter.
    """
    found: dict[str, tuple[int, int]] = {}
    for letters, pages in _SCRIPTS.items():
        for page in (one for one in pages if _holds(one, specimen)):
            beyond = re.sub(r"[\x00-\x7f]+", " ", specimen.decode(page))
            words = re.findall(f"{letters}+", beyond)
            told = sum(map(len, words))
            cased = any(map(str.isupper, beyond)) == any(map(str.islower, beyond))
            if cased and told >= _SCRIPT_TOLD_BY * len(beyond.replace(" ", "")):
                found[page] = (sum(not _is_word(word) for word in words), -told)
    return min(found, key=lambda page: found[page], default=None)


def _is_word(text: str) -> bool:
    """Whether letters are all small, all capitals, or all but the first, or have neither."""
    usual = {text.lower(), text.upper(), text[:1].upper() + text[1:].lower()}
    return text in usual and not unicodedata.category(text[0]).startswith("M")


_WESTERN = (
    *("äöüß", "àâæçèéêëîïôœùûüÿ", "áéíóúüñ", "àèéìíîòóùú", "àáâãçéêíóôõúü", "äöüõšž"),
    *("åäöé", "æøåéèêóòô", "áäéëïíóöúü", "áðéíóúýþæö", "àçèéíïòóúü", "çë"),
)
_CENTRAL = (
    *("ąćęłńóśźż", "áéíóöőúüű", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "čćđšž"),
    "ăâîşţ",
)
_TURKISH, _BALTIC = ("çğ\u0131öşüâîû",), ("ąčęėįšųūž", "āčēģīķļņšūž", "äöüõšž")
_ALPHABETS = {
    **{"cp1252": _WESTERN, "cp1254": _TURKISH, "cp1250": _CENTRAL, "cp1257": _BALTIC},
    **{"iso8859_15": _WESTERN, "iso8859_2": _CENTRAL, "cp850": _WESTERN, "cp852": _CENTRAL},
    **{"cp857": _TURKISH, "mac_roman": _WESTERN},
}
"""Letters beyond ASCII of languages that each code page writes, the usual pages first."""
_SIGNS = "\xa0-\xac\xae-\xb7\xb9-\xbf\xd7\u20ac\u2013\u2014\u2018-\u201e\u2022\u2026\u2030\u2122"
"""What stands beside words and numbers in any language; within a word only some do."""
_SIGN_BESIDE = pattern_on_demand(
    rf"(?<![^\W\d_])[{_SIGNS}]|[{_SIGNS}](?![^\W\d_])"
    r"|[\u2018\u2019\u00b4\u00b7\u2013\u2014\u00ad]"
)
_COVERED = 0.97


def _latin_codepage(specimen: bytes) -> str | None:
    """The code page in which what is beyond ASCII is letters of one language, but for signs.

    The first of those of which nearly all is covered best; None where there is none.
    """
    covered = {page: _covered(page, specimen) for page in _ALPHABETS}
    best = max(covered, key=lambda page: covered[page])
    return best if covered[best] >= _COVERED else None


def _covered(page: str, specimen: bytes) -> float:
    """The greatest share that letters of one language have of what is no sign beside words."""
    read = _SIGN_BESIDE.sub("", specimen.decode(page, "replace")).casefold()
    counts = Counter(re.sub(r"[\x00-\x7f\u0307]", "", read))  # a capital I with a dot folds to two
    shares = (sum(counts[one] for one in alphabet) for alphabet in _ALPHABETS[page])
    return max(shares) / counts.total() if counts else 1.0


def _is_western(specimen: bytes) -> bool:
    """Whether the bytes read as Western European words in Windows-1252 (which holds Latin-1).

    There, letters beyond ASCII are the lesser part of the words they stand in, and no sign
    stands between two letters.  Cyrillic, Greek and East Asian bytes fail both.
    """
    try:
        read = specimen.decode("cp1252")
    except UnicodeDecodeError:
        return False
    words = "".join(re.findall(r"\w*[^\W\d_a-zA-Z]\w*", read))
    plain = sum(letter.isascii() for letter in words)
    return not _SIGN_IN_WORD.search(read) and 2 * plain >= len(words)


def beside_compressed(file: Path) -> Iterator[str]:
    """What a file compressed with gzip or bzip2 holds beside the text, which it may name."""
    with file.open("rb") as stream:
        begins = stream.read(_READ_AT_ONCE)
        packed = begins.startswith(b"\x1f\x8b")
        flags = begins[3] if packed and len(begins) > 3 else 0
        if flags & ~_NAMED or (flags and b"\0" not in begins[10:_LONGEST_NAME]):
            yield _BESIDE_COMPRESSED
            return
        inflating = zlib.decompressobj(31) if packed else bz2.BZ2Decompressor()
        with suppress(zlib.error, OSError):  # such a file is not read either
            while begins and not inflating.eof:
                inflating.decompress(begins)
                begins = stream.read(_READ_AT_ONCE) if not inflating.eof else b""
        if inflating.unused_data or stream.read(1):
            yield _BESIDE_COMPRESSED


_NAMED, _LONGEST_NAME = 8, 10 + 255
"""The bit of gzip's header by which a name follows, and where it ends at the latest."""
_BESIDE_COMPRESSED = "comments or further parts of the compressed file"
