"""What the base installation does, without the libraries that are extras."""

import subprocess
import sys

import pytest

EXTRAS = ("numba", "llvmlite", "scipy", "sqlglot", "dp_accounting")
BEFORE = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None
"""
FRAME = """
import polars, random, voile
dice = random.Random(3)
frame = polars.DataFrame({"age": [dice.randint(0, 99) for _ in range(20_000)],
                          "pay": [dice.randint(0, 99) for _ in range(20_000)]})
"""


def python(code, *arguments, cwd=None):
    """A process that runs some code where the extras are absent."""
    return subprocess.run(
        [sys.executable, "-c", BEFORE + code, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


COMMAND = "from voile_base.main import main; main()"


@pytest.mark.slow
def test_tables_are_published_without_extras():
    """k-anonymity, (k,e)-anonymity and noise of 20,000 rows need no compiler and no SciPy."""
    run = python(
        FRAME
        + """
print(voile.k_anonymize(frame, quasi_identifiers=["age", "pay"], k=5, person="row").release.rows)
print(voile.ke_anonymize(frame, quasi_identifiers=["age"], sensitive="pay", k=5, e=20,
                         person="row").release.rows)
print(voile.add_laplace_noise(frame, quasi_identifiers=["age"], epsilon=1, person="row",
                              columns={"age": {"bounds": [0, 110]}}).release.rows)
"""
    )
    assert run.stdout.split() == ["20000"] * 3, run.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "extra"),
    [
        (["attack", "release", "--against", "few.csv", "--plan", "few.toml"], "voile[evidence]"),
        (["query", "release", "COUNT(*)"], "voile[query]"),
        (["publish", "few.csv", "--plan", "ranked.toml", "--out", "ranked"], "voile[fast]"),
    ],
)
def test_what_is_missing_is_named(call, extra, tmp_path):
    """A command that needs an extra says which, exits with 2, and leaves nothing."""
    rows = "\n".join(f"{10 + number % 7},{number % 5}" for number in range(60))
    (tmp_path / "few.csv").write_text(f"age,sick\n{rows}\n")
    roles = '[roles]\nperson = "row"\nquasi_identifiers = ["age"]\nsensitive = ["sick"]\n'
    (tmp_path / "few.toml").write_text(roles + '[method]\nname = "generalization"\nk = 3\n')
    (tmp_path / "ranked.toml").write_text(
        '[roles]\nperson = "row"\nranking = ["age"]\n[method]\nname = "ranking"\nk = 3\ntop = 20\n'
    )
    made = python(COMMAND, "publish", "few.csv", "--plan", "few.toml", "--out", "release",
                  cwd=tmp_path)  # fmt: skip
    assert made.returncode == 0, made.stderr
    run = python(COMMAND, *call, cwd=tmp_path)
    assert run.returncode == 2, run.stderr
    assert f"pip install '{extra}'" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "ranked").exists()


@pytest.mark.parametrize(
    ("sensitive", "method", "more"),
    [
        ('"pay", "rate"', 'name = "generalization"\nk = 3', "cryptography"),
        ('"pay"', 'name = "ke-anonymity"\nk = 3\ne = 9', "voile.publish.generalization"),
    ],
)
def test_small_releases_load_no_library_for_large_ones(sensitive, method, more, tmp_path):
    """160 rows need no compiler, masked arrays, positions, others' claims, nor a cipher unasked."""
    rows = "\n".join(f"{20 + n % 40},{n % 7},{12_000 + 317 * n},{n / 7}" for n in range(160))
    (tmp_path / "few.csv").write_text(f"age,floor,pay,rate\n{rows}\n")
    (tmp_path / "few.toml").write_text(
        '[roles]\nperson = "row"\nquasi_identifiers = ["age", "floor"]\n'
        f"sensitive = [{sensitive}]\n[method]\n{method}\n"
    )
    report = """
import atexit
HEAVY = ("numba", "numpy.ma", "pyarrow.compute", "voile_geo.planar.costs", "pandas", "scipy",
         "duckdb", "voile.release.method_claims", *sys.argv.pop(1).split(","))
atexit.register(lambda: print([name for name in HEAVY if sys.modules.get(name)]))
"""
    run = subprocess.run(
        [sys.executable, "-c", "import sys" + report + COMMAND, more, "publish", "few.csv",
         "--plan", "few.toml", "--out", "release"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "[]"


def test_patterns_of_recognisers_are_compiled_when_a_column_is_looked_at():
    """Loading what tells names, addresses and staff compiles none of its expressions."""
    code = """
import re, voile.recognisers.values, voile.schema.names
made, compiled = re.compile, []
re.compile = lambda *given: compiled.append(given) or made(*given)
import voile.recognisers.telling
print(len(compiled))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"
