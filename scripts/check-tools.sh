#!/bin/sh
# Says which tools that the build needs are missing, and how to get them. Exit code 1 if any is.
cd "$(dirname "$0")/.." || exit 1
missing=0

lacks() {
    echo "missing: $1"
    echo "    get it: $2"
    missing=1
}

python=$(scripts/find-python.sh)
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    lacks "Python 3.11 or newer" "apt install python3 python3-venv, brew install python, or https://www.python.org/downloads/"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    lacks "the venv module of $python" "apt install python3-venv"
fi

wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! command -v cargo >/dev/null 2>&1; then
    lacks "Rust $wanted or newer" "https://rustup.rs: curl --proto '=https' -sSf https://sh.rustup.rs | sh"
else
    found=$(rustc --version 2>/dev/null | cut -d' ' -f2)
    oldest=$(printf '%s\n%s\n' "$wanted" "${found:-0}" | sort -t. -k1,1n -k2,2n | head -n 1)
    [ "$oldest" = "$wanted" ] || lacks "Rust $wanted or newer (this is ${found:-none})" "rustup update stable"
fi

if ! command -v "${CXX:-c++}" >/dev/null 2>&1 && ! command -v g++ >/dev/null 2>&1; then
    lacks "a C++ compiler" "apt install g++, dnf install gcc-c++, or xcode-select --install"
fi

exit "$missing"
