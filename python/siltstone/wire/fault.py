"""What is wrong inside a message, and where."""

from siltstone.errors import InvalidArgumentError


class Fault(Exception):
    """Raised where a value is wrong; each level on the way out adds its step of the path, so that a message
    without fault pays nothing for paths."""

    def __init__(self, text: str, reason: str | None = None, *, at: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.reason = reason
        self.steps = [] if at is None else [at]

    def under(self, step: str) -> None:
        """Say that what is wrong lies under `step`: a field's name, or ``[3]``."""
        self.steps.append(step)

    def error(self) -> InvalidArgumentError:
        path = ""
        for step in reversed(self.steps):
            path += step if step.startswith("[") or not path else f".{step}"
        return InvalidArgumentError(f"{path or 'message'}: {self.text}", reason=self.reason, field=path)
