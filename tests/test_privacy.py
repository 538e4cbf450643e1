"""What is published tells nothing of host and user, and still holds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.results.model import ErrorRecord, Result
from aiscore.results.privacy import redacted
from aiscore.results.store import check, save
from aiscore.results.summary import summarise
from aiscore.spec import Status
from tests.results_factory import at_speed, record, result
from workloads.suite import FULL

PART = st.text("abcdefghijklmnopqrstuvwxyz0123456789_-", min_size=3, max_size=12)


def failed(message: str, *log: str) -> Result:
    """A result whose first test ended with that message."""
    error = ErrorRecord(type="OSError", message=message, log=list(log))
    return result(
        [record(FULL[0], status=Status.CRASH, error=error), *at_speed()[1:]], arguments=["run"]
    )


def message_of(made: Result) -> str:
    error = made.tests[0].error
    assert error
    return error.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("No such file: /home/alice/x.json", "No such file: [path]"),
        ("cannot open '/home/alice smith/x.json'", "cannot open [path]"),
        ("--xla_dump_to=/tmp/alice", "--xla_dump_to=[path]"),
        ("dump to:/tmp/alice/x, then stop", "dump to:[path], then stop"),
        ("file:///home/alice/x", "[path]"),
        ("//home/alice/x", "[path]"),
        ("../alice/x", "[path]"),
        ("~/models/x", "~[path]"),
        ("/a/lib:/b/lib", "[path]"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("12.5 images/s, N/A, 1/2", "12.5 images/s, N/A, 1/2"),
        ("nvcr.io/nvidia/tensorflow:24.05-tf2", "nvcr.io/nvidia/tensorflow:24.05-tf2"),
        ("alice on box7 has box70", "[name] on [name] has box70"),
    ],
)
def test_paths_and_names_in_a_message_are_hidden_and_nothing_else(text: str, shown: str):
    assert message_of(redacted(failed(text), {"alice", "box7", "x"})) == shown


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("results/alice.json", "[path]"),
        ("--output=results/alice.json", "--output=[path]"),
        ("a/b=c", "[path]"),
        ("--tests=1.1,resnet*", "--tests=1.1,resnet*"),
        ("alice", "[name]"),
    ],
)
def test_arguments(argument: str, shown: str):
    made = redacted(result(arguments=["run", argument]), {"alice"})
    assert made.run.arguments == ["run", shown]


def test_workers_logs_and_the_container_are_left_out():
    made = failed("out of memory", "retrieving diagnostic information for host: box7")
    host = {**made.environment.host, "container_id": "f00", "cpu_limit": "unknown: no /sys/fs"}
    made = made.model_copy(
        update={"environment": made.environment.model_copy(update={"host": host})}
    )
    shown = redacted(made)
    assert shown.tests[0].error == ErrorRecord(type="OSError", message="out of memory")
    assert shown.environment.host["cpu_limit"] == "unknown: no [path]"
    assert "container_id" not in shown.environment.host
    assert shown.environment.host["cpu"] == made.environment.host["cpu"]


def test_variables_are_redacted_and_versions_stay():
    made = result(
        software={"python": "3.11.7", "cuda_toolkit": "unknown: /usr/local/cuda has none"}
    )
    made = made.model_copy(
        update={
            "environment": made.environment.model_copy(
                update={"variables": {"CUDA_HOME": "/home/alice/cuda", "TF_CPP_MIN_LOG_LEVEL": "2"}}
            )
        }
    )
    shown = redacted(made).environment
    assert shown.variables == {"CUDA_HOME": "[path]", "TF_CPP_MIN_LOG_LEVEL": "2"}
    assert shown.software == {"python": "3.11.7", "cuda_toolkit": "unknown: [path] has none"}


def test_what_is_measured_stays_and_the_file_holds(tmp_path: Path):
    made = summarise(failed("cannot write /home/alice/x"))
    shown = redacted(made, {"alice"})
    assert shown.summary == made.summary
    assert [test.rounds for test in shown.tests] == [test.rounds for test in made.tests]
    save(shown, tmp_path / "r.json")
    assert check(tmp_path / "r.json") == []


@given(st.lists(PART, min_size=2, max_size=4), st.sampled_from(["", "'", '"']))
def test_no_part_of_a_path_is_left(parts: list[str], quote: str):
    path = f"{quote}/{'/'.join(parts)}{quote}"
    shown = message_of(redacted(failed(f"= {path} ="))).replace("[path]", "")
    assert set(shown) <= set("= '\"")
