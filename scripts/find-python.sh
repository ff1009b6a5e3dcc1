#!/bin/sh
# Prints a Python that is new enough: $PYTHON_FOR_SILTSTONE, else the newest on the PATH; "python3" if there is none.
for python in ${PYTHON_FOR_SILTSTONE:-python3.14 python3.13 python3.12 python3.11 python3}; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$python"
        exit
    fi
done
echo python3
