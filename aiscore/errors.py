"""The one error type that users see."""


class UserError(Exception):
    """Something the user can put right: what is wrong, then what to do."""

    exit_code = 2

    def __init__(self, problem: str, advice: str = "") -> None:
        self.problem = problem
        self.advice = advice
        super().__init__(f"{problem}: {advice}" if advice else problem)

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, str]]:
        """So that it arrives whole from another process."""
        return type(self), (self.problem, self.advice)
