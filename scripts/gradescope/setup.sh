#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image: the project with its packages and a CUDA toolkit.
set -euo pipefail
cd "${AUTOGRADER_ROOT:-/autograder}/source/warpgrade"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends make python3 python3-venv ca-certificates
make build
