"""A session's resident passes, sampled as a worker samples them."""

from aiscore.backends.base import ResidentSession
from aiscore.sampling import sample_blocks
from aiscore.spec import Policy


def sample(session: ResidentSession, policy: Policy) -> tuple[list[int], list[float]]:
    """The number of passes of each block, and the time of its mean pass in s."""
    sizes: list[int] = []
    means_s: list[float] = []

    def report(passes: int, mean_s: float) -> None:
        sizes.append(passes)
        means_s.append(mean_s)

    sample_blocks(session.resident_pass, session.sync, policy, report)
    return sizes, means_s
