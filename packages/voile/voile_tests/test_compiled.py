"""Compiled loops are compiled when they are called, whether or not the disk can keep them."""

from __future__ import annotations

import errno
import subprocess
import sys

import numpy as np
import pytest

from voile_base.compiled import njit, register_jitable, uncompiled


@register_jitable
def _twice(number):
    return 2 * number


@njit(nogil=True)
def _added(one, other):
    return one + _twice(other)


@njit()
def _sum(numbers):
    total = 0
    for number in numbers:
        total = _added(total, number)
    return total


@pytest.mark.slow
def test_compiled_functions_call_each_other():
    """A loop may call another one, and what is registered for both."""
    assert _sum(np.arange(4)) == 12
    assert uncompiled(_sum) is not _sum
    assert uncompiled(_sum)([1, 2]) == 6
    assert uncompiled(_twice) is _twice


@njit(cache=False)
def _share(numbers, index, whole):
    return numbers[index] // (2 if whole else 1)


@njit(cache=False)
def _shares(numbers):
    nearest, total = -1, 0
    for index in range(len(numbers)):
        total += _share(numbers, index, True) + _share(numbers, 0, False)
        total += _share(numbers, nearest, whole=False)
        nearest = index
    return total


@njit()
def _put_behind(numbers, first, others):
    numbers[first:] = others


@pytest.mark.slow
def test_a_loop_is_compiled_once_for_all_constants_it_is_called_with():
    """A constant is a number as any other, and so is a variable that begins as one."""
    assert _shares(np.array([4, 6])) == 2 + 4 + 6 + 3 + 4 + 4
    assert len(_share._load().signatures) == 1


@pytest.mark.slow
def test_an_array_that_does_not_fit_into_another_is_refused():
    """One of another size is an error, and nothing is written; one that fits is put there."""
    numbers = np.arange(4)
    with pytest.raises(ValueError, match="another size"):
        _put_behind(numbers, 2, np.arange(3))
    assert numbers.tolist() == [0, 1, 2, 3]
    _put_behind(numbers, 2, np.array([8, 9]))
    assert numbers.tolist() == [0, 1, 8, 9]
    one = np.zeros(3, dtype=np.int64)
    _put_behind(one, 0, np.array([7]))
    assert one.tolist() == [7, 7, 7]


@pytest.mark.slow
def test_declaring_loops_does_not_load_numba():
    """Only a call does."""
    code = (
        "import sys, voile_geo.planar.noise\n"
        "import voile.table.engines.shared, voile.publish.ke_anonymity.searches\n"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("step", ["save", "load"])
def test_a_disk_that_takes_nothing_is_no_obstacle(monkeypatch, step):
    """What cannot be kept or read is compiled anew in each process."""
    from numba.core.caching import IndexDataCacheFile  # noqa: PLC0415 - what is tested loads it

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, step, full)

    @njit(cache=True)
    def incremented(number):
        return number + 1

    assert incremented(1) == 2


def test_what_an_earlier_version_kept_is_thrown_away(monkeypatch):
    """A class that is no more cannot be read back: the loop is compiled, and kept anew."""
    from numba.core.caching import IndexDataCacheFile  # noqa: PLC0415 - what is tested loads it

    thrown_away = []

    def stale(*arguments):
        raise AttributeError("Can't get attribute 'Question'")

    def flush(cache):
        thrown_away.append(cache)

    monkeypatch.setattr(IndexDataCacheFile, "load", stale)
    monkeypatch.setattr(IndexDataCacheFile, "flush", flush)

    @njit(cache=True)
    def doubled(number):
        return 2 * number

    assert doubled(1) == 2
    assert thrown_away


def _added_up(numbers):
    total = numbers[0]
    for number in numbers[1:]:
        total += number
    return total


@pytest.mark.slow
def test_what_two_processes_kept_in_one_file_is_not_called(monkeypatch, tmp_path):
    """Machine code of other types is thrown away: it would add up whole numbers as fractions."""
    from numba.core import config  # noqa: PLC0415 - what is tested loads it

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    whole, real = np.array([1, 2, 3]), np.array([1.5, 2.5])
    before = njit(cache=True)(_added_up)
    assert (before(whole), before(real)) == (6, 4.0)
    one, other = tmp_path.rglob("*.nbc")
    held = one.read_bytes(), other.read_bytes()
    other.write_bytes(held[0])
    one.write_bytes(held[1])
    after = njit(cache=True)(_added_up)
    assert (after(whole), after(real)) == (6, 4.0)
    again = njit(cache=True)(_added_up)
    assert (again(real), again(whole)) == (4.0, 6)


@pytest.mark.slow
def test_a_folder_of_somebody_else_is_no_obstacle(tmp_path):
    """Where machine code cannot be kept at all, calls still work."""
    (tmp_path / "file").write_text("")
    code = (
        "import numpy as np\n"
        "from voile.publish.ke_anonymity.searches import _best_cuts\n"
        "ends, work = np.zeros((1, 3), np.int64), np.zeros((4, 1, 3), np.int64)\n"
        "given = np.arange(2), np.ones(3, np.bool_), ends, ends\n"
        "_best_cuts(*given, work[0, 0], work[1, 0], (work[2], work[3]))\n"
        "print(len(work[1, 0]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache"), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "3\n"), ended.stderr


_KEPT = """
import sys
import numpy as np
from voile_base.compiled import njit

@njit(cache=True, nogil=True)
def _shares(numbers, ends, whole, shift):
    low, high = ends
    made = np.zeros((2, len(numbers)))
    for index in range(len(numbers)):
        made[0, index] = (min(max(numbers[index], low), high) + shift) / whole
        made[1, index] = made[0, index] if index else -1.0
    return made

@njit(cache=True, nogil=True)
def _is_above(numbers, least):
    return numbers.sum() > least

@njit(cache=True, nogil=True)
def _count(codes, counts):
    for code in codes:
        counts[code] += 1

numbers, counts = np.arange(5, dtype=np.uint16), np.zeros(3, dtype=np.int64)
made = _shares(numbers, (1, np.int64(3)), 2, 0.5)
assert made.tolist() == [[0.75, 0.75, 1.25, 1.75, 1.75], [-1.0, 0.75, 1.25, 1.75, 1.75]]
assert _is_above(numbers, 9) is True and _is_above(numbers, 10) is False
assert _count(np.array([2, 0, 2], dtype=np.uint8), counts) is None
assert counts.tolist() == [1, 0, 2]
assert _shares(numbers[::2], (1, 3), 4, 1.0)[0].tolist() == [0.5, 0.75, 1.0] if strided else True
try:
    _shares(numbers, (1, 3), 0, 0.5)
    raise AssertionError
except ZeroDivisionError:
    pass
print("numba" in sys.modules)
"""


def _said_by_process(tmp_path, code):
    """What a process of its own says, whose machine code is kept in a folder."""
    file = tmp_path / "loops_of_a_test.py"
    if not file.exists() or file.read_text() != code:
        file.write_text(code)
    ended = subprocess.run(
        [sys.executable, file],
        env={"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.slow
def test_machine_code_that_was_kept_is_loaded_without_numba(tmp_path):
    """It gives, and raises, what Numba's would; Numba comes for an error, and for other arrays."""
    code = _KEPT.replace("if strided else True", "if False else True")
    assert _said_by_process(tmp_path, code) == "True"
    before_the_error = code.replace("try:", 'print("numba" in sys.modules)\ntry:')
    assert _said_by_process(tmp_path, before_the_error) == "True\nTrue"
    assert _said_by_process(tmp_path, before_the_error) == "False\nTrue"
    strided = _KEPT.replace("if strided else True", "")
    assert _said_by_process(tmp_path, strided) == "True"


_COPYING = """
import math
import sys
import numpy as np
from voile_base.compiled import njit

@njit(cache=True, nogil=True)
def _votes(rows, weights, found):
    for row in rows:
        found[row] += weights / len(rows)
        found[row, 0] += np.exp(weights[0])

found = np.zeros((3, 2))
_votes(np.array([0, 2, 2]), np.array([3.0, 6.0]), found)
each = 1 + math.exp(3)
assert np.allclose(found, [[each, 2], [0, 0], [2 * each, 4]], rtol=1e-15), found
print("numba" in sys.modules)
"""


@pytest.mark.slow
def test_loops_that_copy_what_they_write_over_need_no_numba_later(tmp_path):
    """Nor do those that raise e to a power."""
    assert [_said_by_process(tmp_path, _COPYING) for _ in range(2)] == ["True", "False"]


_OF_AUDITS = """
import sys
from types import SimpleNamespace
import numpy as np
from voile.audit.alike_rows import _Learning
from voile.audit.excess import NearestRows

worth = np.eye(3, dtype=np.float32)
nearest = NearestRows((SimpleNamespace(worth=worth), SimpleNamespace(worth=worth)))
codes = [np.array([0, 1, 2, 2]), np.array([0, 0, 1, 2])]
print(nearest.closest(codes, codes), nearest.likelier([codes], codes))
ranks = np.array([np.arange(12) % 5, np.arange(12) % 3], dtype=np.uint16)
columns = SimpleNamespace(name="a"), SimpleNamespace(name="b")
learning = _Learning(columns, np.arange(8), ranks, (np.arange(5.0), np.arange(3.0)), (4,))
truth = np.arange(8) % 2, np.empty(0)
print(learning._grown(None, np.arange(8), truth, 2, np.uint64(1)))
print("numba" in sys.modules)
"""


@pytest.mark.slow
def test_the_loops_of_an_audit_need_no_numba_once_they_are_kept(tmp_path):
    """So that an audit holds no more of it, and all that it says is the same."""
    first, second = (_said_by_process(tmp_path, _OF_AUDITS).splitlines() for _ in range(2))
    assert (first.pop(), second.pop()) == ("True", "False")
    assert first == second


@pytest.mark.slow
def test_machine_code_that_was_damaged_is_not_called(tmp_path):
    """A file that is not what was written is as none."""
    code = _KEPT[: _KEPT.index("assert _shares(numbers[::2]")] + 'print("numba" in sys.modules)\n'
    assert [_said_by_process(tmp_path, code) for _ in range(2)] == ["True", "False"]
    for kept in (tmp_path / "kept").glob("*.loop"):
        kept.write_bytes(kept.read_bytes()[:-9] + b"\0" * 9)
    assert _said_by_process(tmp_path, code) == "True"
