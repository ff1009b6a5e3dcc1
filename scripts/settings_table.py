"""Write the README's table of settings from siltstone/config.py.

python scripts/settings_table.py           write it
python scripts/settings_table.py --check   fail if it differs
"""

import argparse
import sys
from pathlib import Path

from siltstone.config import SETTINGS, default_text

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- settings: scripts/settings_table.py -->\n", "<!-- end of settings -->"


def table() -> str:
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for name, setting in SETTINGS.items():
        default = f"`{default_text(name)}`" if default_text(name) else ""
        rows.append(f"| `{name}` | {default} | {setting.metadata['doc']} |")
    return "\n".join(rows) + "\n"


def updated(readme: str) -> str:
    """The README with the table as it has to be."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the line {BEGIN.strip()} or {END}")
    return before + begin + table() + end + after


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the table differs")
    check = parser.parse_args().check
    readme = README.read_text(encoding="utf-8")
    if check and updated(readme) != readme:
        sys.exit("README.md: the table of settings is not that of config.py; run scripts/settings_table.py")
    if not check:
        README.write_text(updated(readme), encoding="utf-8")


if __name__ == "__main__":
    main()
