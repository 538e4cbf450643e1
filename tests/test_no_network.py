"""No command asks for the network: each is run where asking for it kills the process."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aiscore.results import sweep_store
from aiscore.results.reference import find_card
from aiscore.results.store import save
from tests.log_factory import of_card
from tests.results_factory import at_speed, result
from tests.sweep_factory import article

OFFLINE = Path(__file__).with_name("no_network.py")
KILLED = -signal.SIGSYS


def offline(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(OFFLINE), *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(autouse=True)
def the_trap_works(script):
    """In an empty directory, with the fake backend's script."""
    caught = offline("connect")
    if "no filter of system calls here" in caught.stderr:
        pytest.skip(caught.stderr.strip())
    assert caught.returncode == KILLED


@pytest.mark.parametrize("way", ["look up", "connect by IPv6", "listen", "send"])
def test_the_trap_catches_every_way(way):
    assert offline(way).returncode == KILLED


@pytest.fixture
def files(script):
    save(result(at_speed(2.3)), Path("a.json"))
    save(result(at_speed(2.0)), Path("b.json"))
    sweep_store.save(article(), Path("s.json"))
    Path("card.txt").write_text(of_card(find_card("2070")), encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        "--version",
        "--help",
        "run --backend fake --tests 1,8 --rounds 2 -o r.json",
        "run --backend fake --tests 1",
        "show a.json",
        "show a.json --json",
        "compare a.json b.json",
        "compare a.json 2070 --normalize-to 2070",
        "leaderboard --with a.json",
        "publish a.json b.json -o t.md",
        "publish a.json b.json -o t.csv",
        "publish a.json b.json -o t.json",
        "publish a.json b.json -o t.html --price 1 --price 2 --currency EUR",
        "publish a.json b.json -o t.svg",
        "import card.txt",
        "verify a.json b.json",
        "throughput --backend fake --batch 32,64 -o t.json",
        "show s.json",
        "compare s.json s.json",
        "publish s.json -o s.html",
        "tests",
    ],
)
def test_a_command_asks_for_no_network(files, command):
    done = offline(*command.split())
    assert (done.returncode, done.stdout != "" or "-o" in command) == (0, True), done.stderr


@pytest.mark.framework
@pytest.mark.parametrize(
    "command", ["info", "run --suite micro --tests 1 --device cpu --passes 2 -o r.json"]
)
def test_nor_does_tensorflow(command):
    done = offline(*command.split())
    assert done.returncode == 0, done.stderr
