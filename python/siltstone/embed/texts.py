"""What must hold of a text before a model sees it."""

from collections.abc import Sequence

from siltstone.errors import InvalidArgumentError

# Embedding time grows with length (seconds for this many), so an unbounded text would block a core. No
# passage of 256 tokens is longer, see `split_passages`.
MAX_CHARACTERS = 4_096


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list, or InvalidArgumentError naming the first that no model may see."""
    if isinstance(texts, str):
        raise InvalidArgumentError("texts: got one string; pass a list of strings", field="texts")
    checked = list(texts)
    for position, text in enumerate(checked):
        field = f"texts[{position}]"
        if not isinstance(text, str):
            raise InvalidArgumentError(f"{field}: got {type(text).__name__}; pass a string", field=field)
        if len(text) > MAX_CHARACTERS:
            raise InvalidArgumentError(
                f"{field}: {len(text)} characters; at most {MAX_CHARACTERS} can be embedded at once, "
                "shorten it or cut it into passages",
                field=field,
            )
        check_unicode(text, field)
    return checked


def check_unicode(text: str, field: str) -> None:
    """InvalidArgumentError when the text cannot be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"{field}: lone surrogate U+{ord(text[error.start]):04X} at character {error.start}; "
            "it is no valid Unicode text, remove or replace it",
            field=field,
        ) from None


def without_nul(text: str) -> str:
    """The text for the model's eyes: C code behind it ends a text at NUL."""
    return text.replace("\0", " ")
