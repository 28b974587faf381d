"""Which faults a run of the mutants plants."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tools.mutants import STARTING, _broken, drawn

NAMES = [f"voile.dp.m{module}.x_f__mutmut_{number}" for module in range(10) for number in range(50)]


def test_a_seed_draws_the_same_faults_whatever_their_order():
    """Not more than there are, and others with another seed."""
    sample = drawn(NAMES, sample=100, seed=1)
    assert sample == drawn(reversed(NAMES), sample=100, seed=1)
    assert len(set(sample)) == 100
    assert set(sample) < set(NAMES)
    assert sample != drawn(NAMES, sample=100, seed=2)
    assert drawn(NAMES, sample=501) == drawn(NAMES) == sorted(NAMES)


def test_a_larger_sample_goes_on_with_the_smaller():
    """What 20 have found stands when 100 are planted."""
    assert set(drawn(NAMES, sample=20, seed=3)) < set(drawn(NAMES, sample=100, seed=3))


def test_a_sample_falls_on_all_modules():
    """Of ten alike, each has some of a hundred: the chance that one has none is below 0.001."""
    assert {name.split(".")[2] for name in drawn(NAMES, sample=100)} == {f"m{i}" for i in range(10)}


def test_a_sample_is_drawn_among_the_faults_that_are_asked_for():
    """Patterns choose first."""
    sample = drawn(NAMES, ["voile.dp.m3.*"], sample=10)
    assert len(sample) == 10
    assert all(name.startswith("voile.dp.m3.") for name in sample)


def test_a_worker_that_runs_no_test_is_no_fault_that_was_noticed(tmp_path):
    """Mutmut takes its exit status for a time-out, which counts as noticed; here it is named."""
    for room, codes in (("dp", [0, 1, 255, None]), ("dp/planar", [36, -24, 255])):
        folder = tmp_path / "mutants" / "src" / "voile" / room
        folder.mkdir(parents=True)
        names = [f"voile.{room}.x_f__mutmut_{i}" for i in range(len(codes))]
        document = {"exit_code_by_key": dict(zip(names, codes, strict=True))}
        (folder / "exact.py.meta").write_text(json.dumps(document))
    assert _broken(tmp_path) == ["voile.dp.x_f__mutmut_2", "voile.dp/planar.x_f__mutmut_2"]


def test_a_command_that_a_test_starts_counts_no_functions_and_has_its_fault(tmp_path):
    """It works in a folder without the settings that counting asks for."""
    (tmp_path / "sitecustomize.py").write_text(STARTING)
    tell = "import os; print(os.environ.get('MUTANT_UNDER_TEST'))"
    for under_test, left in (("stats", "None"), ("voile.dp.x_f__mutmut_1",) * 2):
        environment = {"PYTHONPATH": str(tmp_path), "MUTANT_UNDER_TEST": under_test}
        done = subprocess.run(
            [sys.executable, "-c", tell],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == left
