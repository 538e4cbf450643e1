"""What is published tells nothing of host and user, and still holds."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.report.disclosure import SAID, Disclosure
from aiscore.report.export import FORMATS
from aiscore.report.page import archived_entry, embedded_entry, make_page
from aiscore.report.pictures import draw
from aiscore.results.model import (
    ErrorRecord,
    ProbeRecord,
    Result,
    RoofRecord,
    RunRecord,
    TestRecord,
)
from aiscore.results.privacy import KEPT, TERMS, redacted
from aiscore.results.store import check, save
from aiscore.results.summary import derive, summarise
from aiscore.spec import Probe, Protocol, Status
from tests import pages
from tests.filled import filled
from tests.results_factory import at_speed, record, resident, result
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


# Every text of the model, the published ones in every format.

PATH = "/home/alice/box7/secret.json"
TEXT = f"alice on box7 could not write '/mnt/secret files/x', {PATH} or ~/secret"
NAMES = {"alice", "box7"}
SECRETS = ("alice", "box7", "secret")
TEST = FULL[0]


def full_of_secrets() -> Result:
    """A result that says them wherever a file may; labels and devices are their user's own words.

    What the store accepts from the suite only is the suite's.
    """
    return summarise(
        filled(
            Result,
            TEXT,
            key=PATH,
            given={
                **{(model, field): "mine" for model, fields in KEPT.items() for field in fields},
                **{(model, field): PATH for model, fields in TERMS.items() for field in fields},
                (RunRecord, "requested"): [TEST.id],
                (RunRecord, "resumed_at"): [PATH],
                (TestRecord, "id"): TEST.id,
                (TestRecord, "network"): TEST.network,
                (TestRecord, "mode"): TEST.mode,
                (TestRecord, "batch"): TEST.batch,
                (TestRecord, "input"): list(TEST.input),
                (TestRecord, "printed"): None,
                (Result, "summary"): None,
            },
        )
    )


def secrets_in(text: str) -> set[str]:
    return {secret for secret in SECRETS if secret in text}


def test_no_text_of_the_model_is_forgotten():
    made = full_of_secrets()
    assert secrets_in(made.model_dump_json()) == set(SECRETS)
    shown = redacted(made, NAMES)
    assert secrets_in(shown.model_dump_json()) == set()
    assert shown.summary == derive(shown), "so that it verifies"


def test_what_stays_as_it_is_is_in_the_model():
    for model, fields in [*KEPT.items(), *TERMS.items()]:
        assert fields <= model.model_fields.keys()


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_is_in_a_published_table(form: str):
    made = full_of_secrets()
    assert secrets_in(FORMATS[form]([made]))
    assert secrets_in(FORMATS[form]([redacted(made, NAMES)])) == set()


def test_no_secret_is_in_a_published_page():
    made = full_of_secrets()
    for one, found in ((made, set(SECRETS)), (redacted(made, NAMES), set())):
        html = make_page([embedded_entry(one)], {}).html
        held = pages.results(html)[0].decode() + str(pages.details(html))
        assert secrets_in(html + held) == found


def test_no_secret_is_in_the_file_beside_a_page():
    made = full_of_secrets()
    for one, found in ((made, set(SECRETS)), (redacted(made, NAMES), set())):
        page = make_page([archived_entry(one, "1.json", "r.tar.gz")], {}, "r.tar.gz")
        assert page.archive
        assert secrets_in(page.html + gzip.decompress(page.archive).decode()) == found


@pytest.mark.parametrize("picture", ["bars", "badge"])
def test_no_secret_is_in_a_picture(picture: str):
    assert secrets_in(draw(picture, [redacted(full_of_secrets(), NAMES)], {})) == set()


@pytest.mark.parametrize("form", SAID)
def test_what_is_said_before_it_is_written_has_no_secret_either(form: str):
    disclosure = Disclosure()
    disclosure.add(SAID[form](redacted(full_of_secrets(), NAMES)))
    assert secrets_in(str(disclosure.lines())) == set()


def test_errors_of_resident_tests_and_problems_of_the_roof():
    error = ErrorRecord(type="OSError", message="no /home/alice/x", log=["on box7"])
    problem = "its process on box7 ended: /home/alice/core"
    probes = [ProbeRecord(kind=Probe.MEMORY, problem=problem)]
    made = resident(
        result(),
        [
            record(FULL[0], protocol=Protocol.RESIDENT, rounds=[], status=Status.OOM, error=error),
            *at_speed(protocol=Protocol.RESIDENT)[1:],
        ],
    ).model_copy(update={"roof": RoofRecord(probes=probes, problem=problem)})
    shown = redacted(made, NAMES)
    assert shown.resident and shown.roof
    assert shown.resident.tests[0].error == ErrorRecord(type="OSError", message="no [path]")
    hidden = "its process on [name] ended: [path]"
    assert [shown.roof.problem, shown.roof.probes[0].problem] == [hidden, hidden]
    said = SAID["html"](shown)["failures"]["messages"]
    assert said == f"no [path]; {hidden}"


@pytest.mark.parametrize("name", ["tensorflow", "classic", "inference", "1.1", "host", "device"])
def test_a_user_may_be_called_like_a_term(name: str, tmp_path: Path):
    made = summarise(resident(result(), at_speed(2, protocol=Protocol.RESIDENT)))
    shown = redacted(made, {name})
    assert (shown.summary, shown.backend) == (made.summary, made.backend)
    save(shown, tmp_path / "r.json")
    assert check(tmp_path / "r.json") == []
