"""The command line as a whole: help, errors, exit codes, speed of start."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import aiscore
from aiscore.cli import main as main_module
from aiscore.cli.main import COMMANDS, main, module_of
from aiscore.errors import UserError
from aiscore.results.store import load, save
from aiscore.spec import Status
from tests.results_factory import record, result
from workloads.suite import FULL

FRAMEWORKS = {"tensorflow", "keras", "jax", "torch", "onnxruntime"}
HEAVY = {*FRAMEWORKS, "numpy", "scipy", "pydantic", "rich", "tabulate", "psutil"}


def imported_by(*arguments):
    """The top-level modules that a command line imports."""
    code = (
        "import sys; from aiscore.cli.main import main; main(sys.argv[1:]);"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.fixture
def failing_command(monkeypatch):
    """Makes a command fail with an error of the test's choice."""

    def install(error: BaseException) -> None:
        @click.command()
        def command() -> None:
            raise error

        module = type(sys)("aiscore.cli.tests")
        module.command = command
        monkeypatch.setitem(sys.modules, "aiscore.cli.tests", module)
        monkeypatch.setattr(main_module, "import_module", lambda name: sys.modules[name])

    return install


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says_of_itself(name):
    command = import_module(module_of(name)).command
    assert command.get_short_help_str(limit=100) == COMMANDS[name]


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"aiscore {aiscore.__version__}\n"


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert all(f" {name} {text}" in output for name, text in COMMANDS.items())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["no-such-command"]])
def test_the_start_imports_nothing_heavy(arguments):
    assert not imported_by(*arguments) & HEAVY


def test_the_engine_imports_no_framework():
    assert not imported_by("run", "--tests", "no-such-test") & FRAMEWORKS


@pytest.mark.parametrize("rounds", [1, 2])
def test_only_rounds_that_tell_bring_numpy_and_scipy(tmp_path, rounds):
    made = [{"round": number + 1, "passes_s": [9.0, 1.0, 1.0]} for number in range(rounds)]
    path = str(tmp_path / "r.json")
    save(result([record(spec, rounds=made) for spec in FULL]), Path(path))
    for command in (["compare", path, path], ["compare", "2070", path], ["show", path]):
        assert not imported_by(*command) & {"numpy", "scipy"}


def test_tables_import_nothing_that_pages_need(tmp_path):
    save(result(), tmp_path / "r.json")
    imported = imported_by("publish", str(tmp_path / "r.json"), "-o", str(tmp_path / "t.md"))
    assert not imported & {*FRAMEWORKS, "scipy", "jinja2", "vl_convert"}
    imported = imported_by("compare", str(tmp_path / "r.json"), str(tmp_path / "r.json"))
    assert not imported & {*FRAMEWORKS, "jinja2", "vl_convert"}


def test_no_arguments_is_help_and_a_usage_error(capsys):
    assert main([]) == 2
    assert "Usage: aiscore" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rnu"], "aiscore: error: there is no command 'rnu'; did you mean run?\n"),
        (["xyzzy"], "aiscore: error: there is no command 'xyzzy'; see 'aiscore --help'\n"),
        (["--nope"], "aiscore: error: No such option '--nope'; see 'aiscore --help'\n"),
    ],
)
def test_usage_errors_are_one_line(capsys, arguments, line):
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", line)


def test_an_error_of_the_users_says_what_to_do(capsys, failing_command):
    failing_command(UserError("the file is cut off", "run it again"))
    assert main(["tests"]) == 2
    assert capsys.readouterr().err == "aiscore: error: the file is cut off; run it again\n"


def test_our_own_error_is_one_line_too(capsys, failing_command):
    failing_command(ZeroDivisionError("oh"))
    assert main(["tests"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("aiscore: error: internal error: ZeroDivisionError: oh; ")
    assert len(error.splitlines()) == 1
    assert main(["tests", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_130(capsys, failing_command):
    failing_command(KeyboardInterrupt())
    assert main(["tests"]) == 130
    assert capsys.readouterr().err == "aiscore: interrupted\n"


@pytest.mark.parametrize("code", [0, 1, 130])
def test_a_command_sets_the_exit_code(failing_command, code):
    failing_command(click.exceptions.Exit(code))
    assert main(["tests"]) == code


def test_a_reader_that_has_read_enough_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "aiscore", "run", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # long before the help is written
    with process:
        assert process.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_table_for_which_there_is_no_room_is_an_error_and_the_result_is_kept(script):
    command = [sys.executable, "-m", "aiscore", "run", "--backend", "fake", "--tests", "1.1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "-o", "result.json"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "aiscore: error: cannot write the output: No space left on device; " in done.stderr
    assert "internal" not in done.stderr
    assert load(Path("result.json")).tests[0].status == "ok"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_without_standard_streams_writes_its_result(script, closed):
    command = f"{sys.executable} -m aiscore run --backend fake --tests 1.1 -o result.json {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, "error" in done.stderr) == (0, False)
    assert load(Path("result.json")).tests[0].status is Status.OK


def test_the_package_offers_run_and_load():
    from aiscore import api

    assert aiscore.run is api.run
    assert callable(aiscore.load)
    with pytest.raises(AttributeError):
        _ = aiscore.nonsense


def test_run_from_python_is_the_same_as_the_command(script):
    result = aiscore.run(backend="fake", tests="1.1", passes=2, output="result.json")
    assert [test.status for test in result.tests] == ["ok"]
    assert aiscore.load(Path("result.json")) == result
    assert "passes=2" in result.run.arguments
    with pytest.raises(UserError, match="full, micro"):
        aiscore.run(backend="fake", suite="huge")
    with pytest.raises(UserError, match="exists already"):
        aiscore.run(backend="fake", tests="1.1", output="result.json")
    again = aiscore.run(backend="fake", tests="1.1", output="result.json", yes=True)
    assert aiscore.load(Path("result.json")) == again
