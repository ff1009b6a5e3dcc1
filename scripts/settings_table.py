"""Write the table of settings in docs/settings.md from siltstone/config.py.

python scripts/settings_table.py           write it
python scripts/settings_table.py --check   fail if it differs
"""

import argparse
import sys
from pathlib import Path

from siltstone.config import SETTINGS, default_text

PAGE = Path(__file__).resolve().parent.parent / "docs/settings.md"
BEGIN, END = "<!-- settings: scripts/settings_table.py -->\n", "<!-- end of settings -->"


def table() -> str:
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for name, setting in SETTINGS.items():
        default = f"`{default_text(name)}`" if default_text(name) else ""
        rows.append(f"| `{name}` | {default} | {setting.metadata['doc']} |")
    return "\n".join(rows) + "\n"


def updated(page: str) -> str:
    """The page with the table as it has to be."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"docs/settings.md lacks the line {BEGIN.strip()} or {END}")
    return before + begin + table() + end + after


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the table differs")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    if check and updated(page) != page:
        sys.exit("docs/settings.md is not what config.py says; run scripts/settings_table.py")
    if not check:
        PAGE.write_text(updated(page), encoding="utf-8")


if __name__ == "__main__":
    main()
